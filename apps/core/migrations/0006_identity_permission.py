from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0005_numbers_of_legal_texts"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="sitesettings",
            options={
                "permissions": (
                    ("change_identity", "Puede cambiar contacto, enlaces del aula, titular y facturas"),
                ),
                "verbose_name": "ajustes del sitio",
                "verbose_name_plural": "ajustes del sitio",
            },
        ),
    ]
