"""Messages that wait for the next page, in a cookie or in the session."""

from typing import Any

from django.contrib.messages.storage.fallback import FallbackStorage

MOST = 100


class FewMessages(FallbackStorage):
    """The newest `MOST` messages of a browser.

    The cookie is signed, but for nobody in particular: whoever has collected thousands of messages
    in it could send it from anywhere, and each page that shows messages would take 150 ms.
    """

    def _get(self, *args: Any, **kwargs: Any) -> tuple[list[Any], bool]:
        messages, is_all = super()._get(*args, **kwargs)  # type: ignore[misc]
        return messages[-MOST:], is_all

    def _store(self, messages: list[Any], *args: Any, **kwargs: Any) -> list[Any]:
        left: list[Any] = super()._store(messages[-MOST:], *args, **kwargs)  # type: ignore[misc]
        return left
