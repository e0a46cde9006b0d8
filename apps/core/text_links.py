"""Finds links in plain text, as mail programs do."""

import re
import unicodedata

# Addresses of sites and of mailboxes, of which mail programs make links.
_LINK = re.compile(r"://|www\.|@|\w\.[^\W\d_]{2}", re.IGNORECASE)


def has_link(text: str) -> bool:
    """Whether a mail program would show the text with a link in it."""
    # Browsers read the full stops of Asian scripts in an address as points, too (UTS 46).
    plain = unicodedata.normalize("NFKC", text).replace("\N{IDEOGRAPHIC FULL STOP}", ".")
    return _LINK.search(plain) is not None
