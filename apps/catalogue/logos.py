"""The logo of a university."""

from django.db import models

from apps.core.public_pictures import HasPicture, PictureField


class HasLogo(HasPicture):
    logo = PictureField(
        "logotipo",
        blank=True,
        upload_to="universidades",
        box=(160, 40),
        db_default="",
        help_text="Sin logotipo se muestran las siglas y el nombre.",
    )
    # An address from before logos were uploaded. It counts until one is uploaded.
    logo_url = models.CharField(max_length=300, blank=True, editable=False, db_default="")

    class Meta:
        abstract = True

    @property
    def logo_address(self) -> str:
        return str(self.logo.url) if self.logo else self.logo_url
