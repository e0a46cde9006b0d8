"""Where files are stored: in folders of VAR_DIR, or in a bucket of an S3-compatible service."""

from pathlib import Path
from typing import Any

from academy.environment import env


def storages(var_dir: Path, bucket: str, *, debug: bool) -> dict[str, dict[str, Any]]:
    """Django's STORAGES. With an empty `bucket`, pictures and attachments are in `var_dir`."""
    static = "apps.core.storage.static_storage.BuiltStaticFilesStorage"
    if debug:
        static = "django.contrib.staticfiles.storage.StaticFilesStorage"
    return {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": var_dir / "media"},
        },
        # Pictures of the public pages, which the page under /imagenes/ sends.
        "pictures": _files(bucket, "pictures", base_url="/imagenes/"),
        # Visitors' attachments. Only staff download them.
        "private": _files(
            bucket,
            "private/leads",
            file_permissions_mode=0o600,
            directory_permissions_mode=0o700,
        ),
        "staticfiles": {"BACKEND": static},
    }


def _files(bucket: str, folder: str, *, base_url: str = "", **local: Any) -> dict[str, Any]:
    """A storage: a folder of VAR_DIR, or the same folder of the bucket."""
    if bucket:
        options = {
            "bucket_name": bucket,
            "endpoint_url": env.str("S3_ENDPOINT_URL", default="") or None,
            "region_name": env.str("S3_REGION", default="") or None,
            "access_key": env.str("S3_ACCESS_KEY", default="") or None,
            "secret_key": env.str("S3_SECRET_KEY", default="") or None,
            "location": folder,
            "base_url": base_url,
        }
        return {"BACKEND": "apps.core.storage.bucket_storage.BucketStorage", "OPTIONS": options}
    return {
        "BACKEND": "apps.core.storage.file_storage.FolderStorage",
        "OPTIONS": {"folder": folder, "base_url": base_url or None, **local},
    }
