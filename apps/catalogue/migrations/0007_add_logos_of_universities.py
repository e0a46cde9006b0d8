from typing import Any

import apps.core.public_pictures
from django.db import migrations, models


def empty_samples(registry: Any, schema_editor: Any) -> None:
    """The addresses of other universities stay: each counts until a logo is uploaded."""
    registry.get_model("catalogue", "University").objects.filter(is_sample=True).update(logo_url="")


class Migration(migrations.Migration):
    dependencies = [("catalogue", "0006_add_semesters")]

    operations = [
        migrations.AddField(
            "university",
            "logo",
            apps.core.public_pictures.PictureField(
                blank=True,
                box=(160, 40),
                crop=False,
                db_default="",
                help_text="Sin logotipo se muestran las siglas y el nombre.",
                storage=apps.core.public_pictures.picture_storage,
                upload_to="universidades",
                verbose_name="logotipo",
            ),
        ),
        migrations.AddField(
            "university",
            "alt_text",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Lo que dice la imagen a quien no la ve. Vacío: el nombre.",
                max_length=160,
                verbose_name="texto alternativo",
            ),
        ),
        migrations.AlterField(
            "university",
            "logo_url",
            models.CharField(blank=True, db_default="", editable=False, max_length=300),
        ),
        migrations.RunPython(empty_samples, migrations.RunPython.noop),
    ]
