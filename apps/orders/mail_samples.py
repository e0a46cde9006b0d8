"""Sample data of the mails about orders (see `apps.core.mail.samples`)."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils import timezone

from apps.classroom.access_links import LINK_LIFETIME as ACCESS_LIFETIME
from apps.core.mail.registry import SecretUrl, absolute_url
from apps.core.mail.samples import STAFF, STUDENT, VISITOR, preview_mail, sample
from apps.core.models import SiteSettings
from apps.core.money import to_euros
from apps.orders.email_correction import LINK_LIFETIME
from apps.orders.models import CART_LIFE
from apps.orders.models.statuses import RefusalKind
from apps.orders.plan.mails import REASONS
from apps.orders.rewards.service import HOLD
from apps.pricing.reads import current_terms
from apps.students.consent_wordings import WORDINGS
from apps.students.models import Consent

NAME = "pedido n.º 1042"


def gift_sample() -> dict[str, Any]:
    """Sample of the gift in the buyer's confirmation (`gifts.mails.gift_facts`)."""
    return {
        "to": "leo@example.com",
        "deliver_on": timezone.localdate() + timedelta(days=20),
        "is_delivered": False,
        "has_words": True,
    }


def _gift_received() -> dict[str, dict[str, Any]]:
    first = {
        "username": "leo@example.com",
        "access_url": SecretUrl(absolute_url(f"{reverse('aula_acceso')}?enlace=ejemplo")),
        "days": ACCESS_LIFETIME.days,
        "new_link_url": absolute_url(reverse("aula_enlace")),
        "items": ["Microeconomía", "Estadística descriptiva: PEC 3"],
        "pending": [],
        "has_password": False,
        "existed_before": False,
        "without_password": False,
        "portal_url": absolute_url(SiteSettings.current().portal),
        "recipient_name": "Leo",
        "sender": "Ana",
        "message": "¡Feliz cumpleaños!\nEste semestre lo sacas.",
    }
    nameless = {**first, "recipient_name": "", "sender": "", "message": "", "has_password": True}
    return {"Con mensaje": first, "Pedido gratuito": nameless}


preview_mail(
    "gift_received",
    title="regalo",
    when="El día elegido, cuando el acceso de quien recibe un regalo está listo",
    to=STUDENT,
    samples=_gift_received,
)
preview_mail(
    "gift_moved",
    title="regalo con otro correo",
    when="Cuando el equipo cambia el correo de quien recibe un regalo",
    to=STUDENT,
    samples=lambda: {
        "A quien lo compró": {"number": 1042, "is_buyer": True},
        "A quien lo tenía": {"number": 1042, "is_buyer": False},
    },
)


def _lines() -> list[dict[str, Any]]:
    where = "Administración y Dirección de Empresas, UNED"
    return [
        {
            "name": "Microeconomía",
            "kind": "Asignatura Completa",
            "detail": where,
            "list_price": Decimal("192.00"),
        },
        {
            "name": "Estadística descriptiva: PEC 3",
            "kind": "Lección Individual",
            "detail": where,
            "list_price": Decimal("24.00"),
        },
    ]


def _portal_url() -> str:
    return absolute_url(SiteSettings.current().portal)


def _order_confirmation() -> dict[str, dict[str, Any]]:
    now = timezone.now()
    today = timezone.localdate()
    in_full = {
        "order_name": NAME,
        "first_name": "Ana",
        "paid_at": now,
        "lines": _lines(),
        "discounts": [sample(name="Código BIENVENIDA10", amount=Decimal("21.60"))],
        "total": Decimal("194.40"),
        "vat_note": "IVA incluido",
        "exchange": None,
        "instalments": [],
        "plan_url": "",
        "invoice_url": SecretUrl(absolute_url(f"{reverse('factura')}?pedido=1042&clave=0123")),
        "portal_url": _portal_url(),
        "gift": None,
        "waived_on": now,
        "waiver": WORDINGS[Consent.Kind.WITHDRAWAL],
        "withdrawal_url": SecretUrl(absolute_url("/desistimiento?pedido=12&clave=ejemplo")),
        "terms": sample(title="Términos y condiciones", version=3, published_on=today),
        "terms_url": absolute_url("/terminos?version=3"),
    }
    plan_sold = current_terms().plan
    plan = [
        {
            "number": number,
            "amount": to_euros(cents),
            "due_on": today + timedelta(days=plan_sold.days_until(number)),
            "paid": number == 1,
        }
        for number, cents in enumerate(plan_sold.split(194_40), start=1)
    ]
    free = {
        **in_full,
        "discounts": [sample(name="Código GRATIS100", amount=Decimal("216.00"))],
        "total": Decimal("0.00"),
        "invoice_url": "",
    }
    return {
        "Pago completo": in_full,
        "A plazos": {**in_full, "instalments": plan, "plan_url": _plan()["plan_url"]},
        "Sin nada que pagar": free,
        "Regalo": {**in_full, "gift": gift_sample()},
        "Cambio de un curso": {
            **in_full,
            "exchange": sample(name="Estadística I", credit=Decimal("150.00")),
        },
    }


def _cart() -> dict[str, Any]:
    return {
        "only_to": "ana@example.com",
        "lines": _lines(),
        "total": Decimal("216.00"),
        "vat_note": "IVA incluido",
        "valid_until": timezone.now() + CART_LIFE,
        "recovery_url": SecretUrl(absolute_url("/complete-payment?order=1042&token=ejemplo")),
    }


def _cart_reminder() -> dict[str, dict[str, Any]]:
    stop = absolute_url(f"{reverse('stop-reminders')}?aviso=ejemplo")
    return {"Ejemplo": {**_cart(), "unsubscribe_url": SecretUrl(stop)}}


def _already_bought() -> dict[str, dict[str, Any]]:
    unpaid = {
        "only_to": "ana@example.com",
        "owned": ["Microeconomía"],
        "is_paid": False,
        "portal_url": _portal_url(),
    }
    return {"Sin pagar": unpaid, "Ya pagado": {**unpaid, "is_paid": True}}


def _bought_twice() -> dict[str, dict[str, Any]]:
    return {
        "Ejemplo": {
            "first_name": "Ana",
            "order_name": NAME,
            "owned": ["Microeconomía"],
            "portal_url": _portal_url(),
        }
    }


def _friend_code() -> dict[str, dict[str, Any]]:
    terms = current_terms()
    return {
        "Ejemplo": {
            "code": "AMIGO-7K2M9QXR",
            "friend_saves": to_euros(terms.invited_cents),
            "reward_full": to_euros(terms.reward_full_payment_cents),
            "reward_instalments": to_euros(terms.reward_instalments_cents),
            "hold_days": HOLD.days,
            "invite_url": absolute_url("/compra?codigo=AMIGO-7K2M9QXR"),
        }
    }


def _staff_attention() -> dict[str, dict[str, Any]]:
    return {
        "Un pedido": {
            "what": f"el {NAME}",
            "reason": "Pagado hace más de 15 minutos y todavía sin acceso al aula.",
            "admin_url": absolute_url(reverse("admin:orders_order_change", args=[1042])),
        }
    }


def _plan() -> dict[str, Any]:
    return {
        "order_name": NAME,
        "first_name": "Ana",
        "plan_url": SecretUrl(absolute_url(f"{reverse('plazos')}?pedido=1042&clave=ejemplo")),
        "left_amount": Decimal("129.60"),
    }


def _notice() -> dict[str, dict[str, Any]]:
    chargeable = {
        **_plan(),
        "number": 2,
        "amount": Decimal("64.80"),
        "due_on": timezone.localdate() + timedelta(days=2),
        "card": "Visa terminada en 4242",
        "chargeable": True,
    }
    return {"Se cobrará": chargeable, "La tarjeta ya no vale": {**chargeable, "chargeable": False}}


def _paid() -> dict[str, dict[str, Any]]:
    due_on = timezone.localdate() + timedelta(days=current_terms().instalment_every_days)
    one = {
        **_plan(),
        "what": "plazo 2",
        "amount": Decimal("64.80"),
        "vat_note": "IVA incluido",
        "invoice_url": SecretUrl(absolute_url(f"{reverse('factura')}?pedido=1042&clave=0123")),
        "paid_at": timezone.now(),
        "left": [{"number": 3, "amount": Decimal("64.80"), "on": due_on}],
    }
    all_of_it = {**one, "what": "plazos 2 y 3", "amount": Decimal("129.60"), "left": []}
    return {"Queda otro": one, "Todo pagado": all_of_it}


def _unpaid() -> dict[str, dict[str, Any]]:
    refused = {
        **_plan(),
        "number": 2,
        "amount": Decimal("64.80"),
        "reason": REASONS[RefusalKind.INSUFFICIENT_FUNDS],
        "confirm": False,
        "again_on": timezone.localdate() + timedelta(days=3),
        "same_card": True,
    }
    return {
        "Se intentará otra vez": refused,
        "El banco pide confirmar": {
            **refused,
            "reason": REASONS[RefusalKind.AUTHENTICATION],
            "confirm": True,
        },
        "Con esa tarjeta no": {
            **refused,
            "reason": REASONS[RefusalKind.EXPIRED_CARD],
            "same_card": False,
        },
        "Último intento": {**refused, "again_on": None},
    }


def _refund_made() -> dict[str, dict[str, Any]]:
    common = {
        "order_name": NAME,
        "first_name": "Ana",
        "paid_with": "card",
        "by_transfer": False,
        "plan_is_over": False,
        "kept": [],
    }
    whole = {"amount": Decimal("194.40"), "is_whole": True, "lines": []}
    return {
        "Por Bizum": {**common, **whole, "paid_with": "bizum"},
        "Por PayPal": {**common, **whole, "paid_with": "paypal"},
        "Por transferencia": {
            **common,
            "amount": Decimal("194.40"),
            "by_transfer": True,
            "is_whole": True,
            "lines": [],
        },
        "Entera": {**common, "amount": Decimal("194.40"), "is_whole": True, "lines": []},
        "De un plan": {
            **common,
            "amount": Decimal("64.80"),
            "is_whole": True,
            "lines": [],
            "plan_is_over": True,
        },
        "Comprado dos veces": {
            **common,
            "amount": Decimal("194.40"),
            "is_whole": True,
            "lines": [],
            "kept": ["Estadística descriptiva"],
        },
        "Una línea": {
            **common,
            "amount": Decimal("24.00"),
            "is_whole": False,
            "lines": ["Estadística descriptiva: PEC 3"],
        },
        "Una parte": {**common, "amount": Decimal("10.00"), "is_whole": False, "lines": []},
    }


def _refund_owner() -> dict[str, dict[str, Any]]:
    common = {
        "order_name": NAME,
        "amount": Decimal("194.40"),
        "actor": "carla",
        "reason": "Compró dos veces la misma asignatura",
        "status": "Devuelto",
        "email": "ana@example.com",
        "by_transfer": False,
        "recorded_it": False,
        "forgiven": Decimal(0),
        "lines": [],
        "admin_url": absolute_url(reverse("admin:orders_order_change", args=[1042])),
    }
    return {
        "Desde la administración": common,
        "De una transferencia, que perdona plazos": {
            **common,
            "amount": Decimal("10.00"),
            "by_transfer": True,
            "recorded_it": True,
            "forgiven": Decimal("129.60"),
            "lines": ["Estadística descriptiva: PEC 3"],
        },
    }


preview_mail(
    "order_confirmation",
    title="confirmación de la compra",
    when="Cuando se paga un pedido, o su primer plazo",
    to=STUDENT,
    samples=_order_confirmation,
)
preview_mail(
    "cart_saved",
    title="enlace para terminar la compra",
    when="Cuando alguien guarda su carrito para más tarde",
    to=VISITOR,
    samples=lambda: {"Ejemplo": _cart()},
)
preview_mail(
    "email_correction",
    title="confirmación de un correo corregido",
    when="Cuando quien acaba de pagar dice que ha escrito mal su correo",
    to=VISITOR,
    samples=lambda: {
        "Ejemplo": {
            "number": 12,
            "confirm_url": SecretUrl(absolute_url(f"{reverse('confirm-email')}?enlace=ejemplo")),
            "days": LINK_LIFETIME.days,
        }
    },
)
preview_mail(
    "order_moved",
    title="pedido que ya no es de este correo",
    when="Cuando quien compró confirma otro correo, al que había escrito antes",
    to=VISITOR,
    samples=lambda: {"Ejemplo": {"number": 12}},
)
preview_mail(
    "payment_declined",
    title="el banco no ha aceptado el pago",
    when="Cuando el banco rechaza un pago que estaba confirmando",
    to=STUDENT,
    samples=lambda: {"Ejemplo": _cart()},
)
preview_mail(
    "cart_reminder",
    title="recordatorio del carrito",
    when="Horas después de dejar la compra a medias, a quien pidió que le avisáramos",
    to=VISITOR,
    samples=_cart_reminder,
)
preview_mail(
    "already_bought",
    title="algo del carrito ya lo tiene",
    when="Cuando un carrito tiene algo que esa dirección ya compró",
    to=STUDENT,
    samples=_already_bought,
)
preview_mail(
    "bought_twice",
    title="ha comprado algo dos veces",
    when="Cuando se paga un pedido con algo que el alumno ya tenía",
    to=STUDENT,
    samples=_bought_twice,
)
preview_mail(
    "referral_code",
    title="código para invitar",
    when="Después de la primera compra, cuando el alumno recibe su código para invitar",
    to=STUDENT,
    samples=_friend_code,
)
preview_mail(
    "staff_attention",
    title="pedido, pago o acceso con aviso",
    when="Cuando un pedido, un pago o un cambio de acceso necesita que alguien lo mire",
    to=STAFF,
    samples=_staff_attention,
)
preview_mail(
    "instalment_notice",
    title="aviso del próximo plazo",
    when="Dos días antes de cobrar un plazo",
    to=STUDENT,
    samples=_notice,
)
preview_mail(
    "instalment_paid",
    title="recibo de un plazo",
    when="Cuando se paga un plazo, o varios a la vez",
    to=STUDENT,
    samples=_paid,
)
preview_mail(
    "instalment_unpaid",
    title="plazo sin cobrar",
    when="Cada vez que el banco rechaza un plazo",
    to=STUDENT,
    samples=_unpaid,
)
preview_mail(
    "refund_made",
    title="devolución hecha",
    when="Cuando se le devuelve dinero, desde aquí o desde el panel de Stripe",
    to=STUDENT,
    samples=_refund_made,
)
preview_mail(
    "refund_owner",
    title="devolución, a la academia",
    when="Cuando se devuelve dinero a alguien",
    to=STAFF,
    samples=_refund_owner,
)


def _order_to_pay() -> dict[str, dict[str, Any]]:
    common = {
        "order_name": NAME,
        "lines": [
            {
                "name": "Microeconomía",
                "kind": "Asignatura Completa",
                "list_price": Decimal("192.00"),
            }
        ],
        "discounts": [sample(name="Precio de tu presupuesto", amount=Decimal("21.60"))],
        "total": Decimal("170.40"),
        "exchange": None,
        "gift_on": None,
        "missing": None,
        "replaces": False,
        "by_transfer": True,
        "iban": "ES91 2100 0418 4502 0005 1332",
        "reference": "PEDIDO-1042",
        "valid_until": timezone.now() + timedelta(days=30),
        "only_to": "ana@example.com",
        "pay_url": "",
        "terms_url": absolute_url("/terminos"),
    }
    link = SecretUrl(absolute_url("/complete-payment?order=1042&token=ejemplo"))
    return {
        "Por transferencia": common,
        "Con tarjeta": {**common, "by_transfer": False, "pay_url": link},
        "Cambio de un curso": {
            **common,
            "by_transfer": False,
            "pay_url": link,
            "exchange": sample(name="Estadística I", credit=Decimal("21.60")),
        },
        "Regalo": {**common, "gift_on": timezone.localdate() + timedelta(days=3)},
        "Cambiado": {**common, "replaces": True},
        "Falta una parte": {**common, "missing": Decimal("70.40")},
    }


preview_mail(
    "order_to_pay",
    title="cómo pagar el pedido",
    when="Cuando el equipo crea o cambia un pedido, y cuando una transferencia no llega al importe",
    to=STUDENT,
    samples=_order_to_pay,
)
preview_mail(
    "transfer_details",
    title="datos de la transferencia",
    when="Cuando el comprador elige pagar por transferencia",
    to=VISITOR,
    samples=lambda: {"Ejemplo": _order_to_pay()["Por transferencia"]},
)
preview_mail(
    "transfer_reminder",
    title="transferencia que no ha llegado",
    when="A los tres días, una vez, si no ha llegado",
    to=VISITOR,
    samples=lambda: {"Ejemplo": _order_to_pay()["Por transferencia"]},
)

preview_mail(
    "renewal",
    title="acceso que termina",
    when="Dos semanas antes de que termine el acceso, si se venden renovaciones",
    to=STUDENT,
    samples=lambda: {
        "Ejemplo": {
            "ends_on": "28 de febrero de 2027",
            "names": ["Microeconomía", "Estadística I: PEC 3"],
            "full": Decimal("235.00"),
            "total": Decimal("117.50"),
            "until": "30 de septiembre de 2027",
            "renewal_url": SecretUrl(absolute_url("/renovar?enlace=ejemplo")),
        }
    },
)
