"""The API speaks to its readers in the second person singular."""

import re
from inspect import getmembers, isclass

import pytest
from django.test import Client
from django.utils.translation import override
from rest_framework import exceptions, serializers

FORMAL = re.compile(r"\b(usted|introduzca|asegúrese|seleccione|compruebe|adjunte)\b", re.IGNORECASE)


def test_no_default_sentence_of_a_field_is_formal() -> None:
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
def test_wrong_values_get_a_familiar_sentence(client: Client) -> None:
    answer = client.post(
        "/api/process-checkout",
        {"email": "ana", "total_amount": "x", "items": "x", "promo_code": "x" * 200},
        content_type="application/json",
    )
    sentences = str(answer.json()["fields"])
    assert answer.status_code == 400
    assert not FORMAL.search(sentences)
    assert "Escribe un" in sentences
