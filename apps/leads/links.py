"""The signed number in a quote's link: whoever has the mail can open it, nobody can guess one."""

from django.core import signing

from apps.leads.models import Quote

# "." and not ":", which a query string would escape.
_signer = signing.Signer(salt="leads.quote", sep=".")


def signed_id(quote: Quote) -> str:
    return _signer.sign(str(quote.pk))


def link_path(quote: Quote) -> str:
    """Where the quote's mail leads: /compra with its subjects in the cart."""
    return f"/compra?presupuesto={signed_id(quote)}"


def quote_from_link(signed: str) -> Quote | None:
    """The quote that a link's `presupuesto` names; None where we did not sign it or it is gone.

    Also after it has ceased to bind: the subjects are still what the visitor chose.
    """
    try:
        quote_id = int(_signer.unsign(signed))
    except (signing.BadSignature, ValueError):
        return None
    return Quote.objects.filter(pk=quote_id).first()
