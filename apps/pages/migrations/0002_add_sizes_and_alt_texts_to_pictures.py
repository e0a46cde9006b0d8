from typing import Any

import apps.core.public_pictures
from django.core.exceptions import ValidationError
from django.db import migrations, models


def store_sizes(registry: Any, schema_editor: Any) -> None:
    """Store the sizes of the pictures that were uploaded before sizes were stored."""
    for name, field in (("TeamMember", "photo"), ("Institution", "logo")):
        for row in registry.get_model("pages", name).objects.exclude(**{field: ""}):
            try:
                getattr(row, field).store_sizes()
            except (OSError, ValidationError):
                # The file is missing or broken, so there is no picture to show at any size.
                continue


def alt_text() -> models.CharField:
    return models.CharField(
        blank=True,
        db_default="",
        default="",
        help_text="Lo que dice la imagen a quien no la ve. Vacío: el nombre.",
        max_length=160,
        verbose_name="texto alternativo",
    )


class Migration(migrations.Migration):
    dependencies = [("pages", "0001_initial")]

    operations = [
        migrations.AddField("institution", "alt_text", alt_text()),
        migrations.AddField("teammember", "alt_text", alt_text()),
        migrations.AddField("testimonial", "alt_text", alt_text()),
        migrations.AddField(
            "testimonial",
            "photo",
            apps.core.public_pictures.PictureField(
                blank=True,
                box=(44, 44),
                crop=True,
                db_default="",
                storage=apps.core.public_pictures.picture_storage,
                upload_to="opiniones",
                verbose_name="foto",
            ),
        ),
        migrations.AlterField(
            "institution",
            "logo",
            apps.core.public_pictures.PictureField(
                blank=True,
                box=(240, 64),
                crop=False,
                help_text="Sin logotipo se muestra el nombre.",
                storage=apps.core.public_pictures.picture_storage,
                upload_to="instituciones",
                verbose_name="logotipo",
            ),
        ),
        migrations.AlterField(
            "teammember",
            "photo",
            apps.core.public_pictures.PictureField(
                blank=True,
                box=(96, 96),
                crop=True,
                storage=apps.core.public_pictures.picture_storage,
                upload_to="equipo",
                verbose_name="foto",
            ),
        ),
        migrations.RunPython(store_sizes, migrations.RunPython.noop),
    ]
