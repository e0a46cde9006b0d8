from django.conf import settings
from django.db import migrations, models

ENVIRONMENT = {
    "max_length": 10,
    "choices": [("pruebas", "Pruebas"), ("produccion", "Real")],
    "default": "produccion",
    "db_default": "produccion",
}


def name_environment(apps, schema_editor):
    """Earlier records belong to the environment that the setting names."""
    if settings.VERIFACTU:
        for name in ("TaxChain", "TaxRecord"):
            apps.get_model("invoices", name).objects.update(environment=settings.VERIFACTU)


class Migration(migrations.Migration):
    dependencies = [("invoices", "0002_add_next_message")]

    operations = [
        migrations.AlterField(
            model_name="invoice",
            name="kind",
            field=models.CharField(
                choices=[
                    ("F1", "Factura"),
                    ("F2", "Factura simplificada"),
                    ("F3", "Factura en sustitución de una simplificada"),
                    ("R1", "Factura rectificativa"),
                    ("R4", "Factura rectificativa de los datos del destinatario"),
                    ("R5", "Factura rectificativa de una simplificada"),
                ],
                max_length=2,
                verbose_name="tipo",
            ),
        ),
        migrations.AddField(
            model_name="pendinginvoice",
            name="tried_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="último intento"),
        ),
        migrations.AlterField(
            model_name="taxchain", name="issuer", field=models.CharField(max_length=20)
        ),
        migrations.AddField(
            model_name="taxchain", name="environment", field=models.CharField(**ENVIRONMENT)
        ),
        migrations.AddField(
            model_name="taxrecord",
            name="environment",
            field=models.CharField(verbose_name="entorno", **ENVIRONMENT),
        ),
        migrations.RunPython(name_environment, migrations.RunPython.noop),
        migrations.RemoveConstraint(model_name="taxrecord", name="tax_record_number_once"),
        migrations.AddConstraint(
            model_name="taxrecord",
            constraint=models.UniqueConstraint(
                fields=("issuer", "environment", "number"), name="tax_record_number_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="taxchain",
            constraint=models.UniqueConstraint(
                fields=("issuer", "environment"), name="one_tax_chain_per_environment"
            ),
        ),
    ]
