"""What this app's first migration imports. The field itself is in `core.public_pictures`."""

from apps.core.public_pictures import PictureField, picture_storage

__all__ = ["PictureField", "picture_storage"]
