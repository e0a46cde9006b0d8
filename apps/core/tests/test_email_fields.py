"""Fields of forms and of the API: their addresses, and what they say of wrong values."""

import re
from inspect import getmembers, isclass

import pytest
from django import forms
from django.utils.translation import override
from rest_framework import exceptions, serializers

from apps.core.input_fields import EmailField, EmailFormField
from tools.dev.processes import ROOT

# A Turkish i without its dot and with it, a long s and the sign of kelvin.
REFUSED = ["ıvan@gmail.com", "İvan@gmail.com", "joſe@gmail.com", "\u212aarl@gmail.com"]
# Letters whose domain is another's by the older of two standards, and a domain that is too long.
OF_TWO_DOMAINS = ["a@faß.de", "a@FAẞ.de", "a@βόλος.com", "a@a\u200db.com", "a@" + "ñ." * 200 + "es"]
# One mailbox has many quoted names, and a mail server delivers to hosts of its own network.
NOT_PLAIN = ['"ana"@gmail.com', '"a\\na"@gmail.com', "ana@localhost", "ana@[10.0.0.5]"]
# A pattern over both parts would try each division of them: minutes for a text of this length.
ONLY_SIGNS = ["@" * 5_000 + "." * 5_000 + '"', "a@" + "@." * 150]
# An erased student has such a text in place of an address.
PLACEHOLDERS = ["borrado-157@borrado.invalid", "ana@INVALID"]
KEPT = {
    "ivan@gmaıl.com": "ivan@xn--gmal-nza.com",
    "ana@señal.es": "ana@xn--seal-hqa.es",
    "Ana.Ruiz+1@GMail.com": "Ana.Ruiz+1@GMail.com",
}


@pytest.mark.parametrize(
    "address", [*REFUSED, *OF_TWO_DOMAINS, *NOT_PLAIN, *ONLY_SIGNS, *PLACEHOLDERS]
)
def test_addresses_of_others_and_placeholders_are_refused(address):
    with pytest.raises(serializers.ValidationError):
        EmailField().run_validation(address)
    with pytest.raises(forms.ValidationError):
        EmailFormField().clean(address)


@pytest.mark.parametrize(("address", "kept"), KEPT.items())
def test_domains_are_kept_as_in_the_dns(address, kept):
    assert EmailField().run_validation(address) == kept
    assert EmailFormField().clean(address) == kept


def test_a_domain_that_grows_in_lower_case_is_refused_if_it_is_too_long():
    address = "a@" + ".".join(["İ" * 60] * 3) + ".com"
    with pytest.raises(serializers.ValidationError):
        EmailField(max_length=254).run_validation(address)
    with pytest.raises(forms.ValidationError):
        EmailFormField(max_length=254).clean(address)


def test_no_form_takes_an_address_with_the_fields_of_the_libraries():
    direct = [
        path
        for path in (ROOT / "apps").rglob("*.py")
        if "tests" not in path.parts
        and any(
            name in path.read_text(encoding="utf-8")
            for name in ("serializers.EmailField(", "forms.EmailField(")
        )
    ]
    assert not direct


def test_student_form_of_the_admin_refuses_the_placeholder_of_an_erased_student(admin_client):
    page = admin_client.post("/admin/students/student/add/", {"email": PLACEHOLDERS[0]})
    assert page.context["adminform"].form.errors["email"] == [
        "Escribe un correo electrónico válido."
    ]


FORMAL = re.compile(r"\b(usted|introduzca|asegúrese|seleccione|compruebe|adjunte)\b", re.IGNORECASE)


def test_no_default_sentence_of_a_field_is_formal():
    with override("es"):
        formal = [
            f"{name}.{code}: {message}"
            for name, field in getmembers(serializers, isclass)
            for code, message in getattr(field, "default_error_messages", {}).items()
            if FORMAL.search(str(message))
        ]
        assert formal == []
        assert not FORMAL.search(str(exceptions.PermissionDenied.default_detail))


@pytest.mark.django_db
def test_wrong_values_get_a_familiar_sentence(client):
    answer = client.post(
        "/api/process-checkout",
        {"email": "ana", "total_amount": "x", "items": "x", "promo_code": "x" * 200},
        content_type="application/json",
    )
    sentences = str(answer.json()["fields"])
    assert answer.status_code == 400
    assert not FORMAL.search(sentences)
    assert "Escribe un" in sentences
