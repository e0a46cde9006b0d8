import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend


class FileBackend(BaseEmailBackend):
    """Writes each mail to an .eml file under `settings.EMAIL_FILE_PATH` instead of sending it.

    The file is named after the Message-ID, so a second attempt overwrites the first. The write is
    atomic. The file is readable by its owner only, because a mail can contain a one-time link.
    """

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        folder = Path(settings.EMAIL_FILE_PATH)
        folder.mkdir(parents=True, exist_ok=True)
        for email in email_messages:
            message = email.message()
            name = re.sub(r"[^\w.-]", "_", message["Message-ID"].strip("<>").rpartition("@")[0])
            # mkstemp creates files with mode 0600.
            handle, draft = tempfile.mkstemp(dir=folder, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(message.as_bytes())
                Path(draft).replace(folder / f"{name}.eml")
            except OSError:
                # A full disk leaves the beginning of the file.
                Path(draft).unlink()
                raise
        return len(email_messages)
