from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# The beginnings of the references of earlier payments.
BEGINNINGS = {"free_": "free", "transfer_": "transfer", "pi_ejemplo_": "sample"}


def name_kinds(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    payments = apps.get_model("orders", "Payment").objects
    for beginning, kind in BEGINNINGS.items():
        payments.filter(reference__startswith=beginning).update(kind=kind)


class Migration(migrations.Migration):
    dependencies = [("orders", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="payment",
            name="kind",
            field=models.CharField(
                choices=[
                    ("card", "Tarjeta"),
                    ("wallet", "Cartera digital"),
                    ("transfer", "Transferencia"),
                    ("free", "Sin coste"),
                    ("sample", "De ejemplo"),
                ],
                db_default="card",
                default="card",
                editable=False,
                max_length=10,
                verbose_name="forma",
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="recorded_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.RunPython(name_kinds, migrations.RunPython.noop, elidable=True),
    ]
