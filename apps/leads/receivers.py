from typing import Any

from django.db import transaction
from django.db.models.signals import post_delete

from apps.leads import files
from apps.leads.models import Attachment


def connect() -> None:
    post_delete.connect(remove_file, sender=Attachment)


def remove_file(instance: Attachment, **kwargs: Any) -> None:
    """A file goes with its row, whoever deletes it; after the commit, so that both stay or go."""
    transaction.on_commit(lambda: files.remove(instance.stored_name))
