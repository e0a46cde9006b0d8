"""The signed number in a quote's link. Nobody can guess one without the mail."""

from django.core import signing

from apps.leads.models import Quote

# A query string would escape the default separator ":".
_signer = signing.Signer(salt="leads.quote", sep=".")


def signed_id(quote: Quote) -> str:
    return _signer.sign(str(quote.pk))


def link_path(quote: Quote) -> str:
    """Return the path of the quote's link: /compra with its subjects in the cart."""
    return f"/compra?presupuesto={signed_id(quote)}"


def quote_from_link(signed: str) -> Quote | None:
    """Return the quote of a link, or None if the signature is wrong or the quote was deleted.

    A quote that no longer binds is returned too: its subjects still fill the cart.
    """
    try:
        quote_id = int(_signer.unsign(signed))
    except (signing.BadSignature, ValueError):
        return None
    return Quote.objects.filter(pk=quote_id).first()
