"""Sessions in the database under a digest of their key. Only the cookie has the key itself.

`SESSION_ENGINE` names this module. Somebody who reads the table, in a copy of the database or in
the admin, can't take over a session.
"""

from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

from apps.core.keyed_digest import keyed_digest, keyed_digests

_SALT = "core.sessions"
# The length of Django's column. 160 bits.
_LENGTH = 40


def stored_key(session_key: str) -> str:
    """The digest under which a session is stored."""
    return keyed_digest(_SALT, session_key)[:_LENGTH]


def stored_keys(session_key: str) -> list[str]:
    """The names that a session may have in the table, one for each current or former SECRET_KEY."""
    return [digest[:_LENGTH] for digest in keyed_digests(_SALT, session_key)]


def delete_stored(name: str) -> None:
    """Delete a session by its stored name, without its key."""
    SessionStore.get_model_class().objects.filter(session_key=name).delete()


class SessionStore(DatabaseStore):
    """Django's sessions in the database, stored under `stored_key`."""

    # Key and stored name of the session that was loaded.
    _loaded: tuple[str | None, str] = (None, "")

    def _get_session_from_db(self) -> Any:
        """The session's row, or None. Django calls it with `self.session_key` set."""
        names = stored_keys(self.session_key or "")
        row = self.model.objects.filter(
            session_key__in=names, expire_date__gt=timezone.now()
        ).first()
        if row is None:
            self._session_key = None
        else:
            self._loaded = (self.session_key, row.session_key)
        return row

    def exists(self, session_key: str) -> bool:
        return self.model.objects.filter(session_key__in=stored_keys(session_key)).exists()

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row = super().create_model_instance(data)
        key, name = self._loaded
        # A session from before a change of SECRET_KEY keeps its name.
        row.session_key = name if row.session_key == key else stored_key(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            self.model.objects.filter(session_key__in=stored_keys(key)).delete()
