import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend


class FileBackend(BaseEmailBackend):
    """Keeps every mail as one .eml file under `settings.EMAIL_FILE_PATH`, where nothing is sent.

    The file is named after the Message-ID: a mail sent again takes its own place. It appears
    whole or not at all, and only its owner may read it, for it can hold a one-time link.
    """

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        folder = Path(settings.EMAIL_FILE_PATH)
        folder.mkdir(parents=True, exist_ok=True)
        for email in email_messages:
            message = email.message()
            name = re.sub(r"[^\w.-]", "_", message["Message-ID"].strip("<>").rpartition("@")[0])
            # mkstemp's files are readable by their owner alone.
            handle, draft = tempfile.mkstemp(dir=folder, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                file.write(message.as_bytes())
            Path(draft).replace(folder / f"{name}.eml")
        return len(email_messages)
