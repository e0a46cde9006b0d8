"""The list of who owes: why, what happens next, and who of the staff cares for it."""

from typing import Any, cast
from uuid import uuid4

from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from apps.core.money import format_euros
from apps.core.staff.admin_base import NOTHING, AcademyModelAdmin, staff_name, two_lines
from apps.core.staff.admin_buttons import button_view, form_key
from apps.core.staff.admin_filters import assignee_filter, choice_filter
from apps.orders.admin_pages.order_head import buyer_of
from apps.orders.admin_pages.order_search import search_orders
from apps.orders.by_staff.debts import note_call, owed, send_payment_link
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Debt, Instalment, Order, OrderEvent
from apps.orders.models.statuses import PLAN_RUNNING, EventKind, OrderStatus

CONTACTS = (EventKind.CALLED, EventKind.MAIL_RESENT)


@admin.register(Debt)
class DebtAdmin(AcademyModelAdmin):
    logs_reading = True
    list_display = ("who", "amount", "why", "last_attempt", "cared_by", "acts")
    list_display_links = None
    list_editable = ("cared_by",)
    list_filter = (
        choice_filter(
            "qué debe",
            "debe",
            plazo=("Un plazo", lambda rows: rows.filter(status__in=PLAN_RUNNING)),
            pago=("Un pedido del equipo", lambda rows: rows.filter(status=OrderStatus.CART)),
            caducado=("Un pedido caducado", lambda rows: rows.filter(status=OrderStatus.EXPIRED)),
        ),
        assignee_filter("cared_by", "quién lo lleva"),
    )
    search_fields = ("email",)
    search_help_text = "Lo que encuentra un pedido: nombre, correo, teléfono o número"
    ordering = ("created_at", "pk")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """None: only the list changes a column."""
        return ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Debt]:
        attempts = Instalment.objects.prefetch_related("attempts")
        contacts = OrderEvent.objects.filter(kind__in=CONTACTS).order_by("-at", "-pk")
        debts: QuerySet[Debt] = (
            Debt.objects.owing()
            .select_related("by_staff", "cared_by")
            .prefetch_related(
                Prefetch("instalments", attempts), Prefetch("events", contacts), "payments"
            )
        )
        return debts

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return search_orders(queryset, search_term), False

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Django's list, whose rows know the address to which their buttons return."""
        changelist = super().get_changelist_instance(request)
        may_act = self.has_change_permission(request)
        for row in changelist.result_list:
            row.back, row.may_act = request.GET.urlencode(), may_act
        return changelist

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        """One select in each row. The staff are read once, and not for each row."""
        allowed: Any = get_user_model().objects.with_perm("orders.view_order")
        users = allowed.filter(is_staff=True).order_by("username")
        staff = {str(user.pk): user for user in users}

        class CareForm(forms.ModelForm[Debt]):
            cared_by = forms.TypedChoiceField(
                label="Quién lo lleva", empty_value=None, required=False
            )

            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                # The present carer stays a choice after losing the permission.
                carer = self.instance.cared_by
                offered = {**staff, str(carer.pk): carer} if carer else staff
                names = ((pk, staff_name(user)) for pk, user in offered.items())
                field: Any = self.fields["cared_by"]
                field.choices = [("", "Nadie"), *names]
                field.coerce = lambda pk: offered.get(str(pk))

        return super().get_changelist_form(request, form=CareForm, **kwargs)

    def save_model(self, request: HttpRequest, obj: Debt, form: Any, change: bool) -> None:
        """Save the column of the list alone: a payment may have changed the others meanwhile."""
        locked_order(obj.pk)
        obj.save(update_fields=["cared_by"])

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The order's page, which changes nothing."""
        page: Any = self.admin_site._registry[Order]
        return cast(HttpResponse, page.change_view(request, object_id, form_url, extra_context))

    @admin.display(description="quién", ordering="first_name")
    def who(self, order: Debt) -> SafeString | str:
        address = reverse("admin:orders_order_change", args=[order.pk])
        link = format_html('<a class="row-link" href="{}">{}</a>', address, buyer_of(order))
        phone = format_html('<a class="whole" href="tel:{0}">{0}</a>', order.phone)
        return two_lines(link, phone if order.phone else "")

    @admin.display(description="debe")
    def amount(self, order: Debt) -> str:
        return format_euros(owed(order).cents)

    @admin.display(description="por qué y qué toca")
    def why(self, order: Debt) -> SafeString | str:
        debt = owed(order)
        return two_lines(debt.reason, debt.next_step)

    @admin.display(description="último intento")
    def last_attempt(self, order: Debt) -> SafeString | str:
        at = owed(order).last_attempt_at
        contact = next(iter(order.events.all()), None)
        said = ""
        if contact is not None:
            what = "Llamada" if contact.kind == EventKind.CALLED else "Correo"
            said = f"{what} el {localtime(contact.at):%d/%m/%Y}, {contact.actor}"
        return two_lines(f"Cobro el {localtime(at):%d/%m/%Y}" if at else NOTHING, said)

    @admin.display(description="qué hacer")
    def acts(self, order: Any) -> SafeString | str:
        if not order.may_act:
            return NOTHING
        to = buyer_of(order)
        button = (
            '<button class="button" type="submit" name="form_key" value="{}" formnovalidate '
            'formaction="{}?{}">{}<span class="visually-hidden"> a {}</span></button>'
        )
        acts = [("llamada", "He llamado")]
        if owed(order).can_be_paid:
            acts.insert(0, ("enlace", "Enviar el enlace"))
        rows = (
            (uuid4(), reverse(f"admin:orders_debt_{name}", args=[order.pk]), order.back, words, to)
            for name, words in acts
        )
        return format_html('<span class="row-acts">{}</span>', format_html_join("", button, rows))

    def get_urls(self) -> list[URLPattern]:
        works = (
            ("enlace", send_payment_link, "Quién debe"),
            ("llamada", note_call, "Quién debe"),
        )
        return [
            *(
                path(
                    f"<int:order_id>/{name}/",
                    self.admin_site.admin_view(
                        button_view(
                            Debt,
                            permission="orders.change_debt",
                            work=_work(act),
                            phrase=phrase,
                            back="admin:orders_debt_changelist",
                        )
                    ),
                    name=f"orders_debt_{name}",
                )
                for name, act, phrase in works
            ),
            *super().get_urls(),
        ]


def _work(act: Any) -> Any:
    def work(request: HttpRequest, order: Debt) -> str:
        actor = request.user.get_username()
        return str(act(order.pk, actor=actor, form_key=form_key(request)))

    return work
