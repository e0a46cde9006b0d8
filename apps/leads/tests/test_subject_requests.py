"""Subject requests: those for the same subject are joined, and each address gets one mail."""

from dataclasses import replace
from functools import partial

import pytest
import time_machine
from django.utils import timezone

from apps.core.mail.registry import render_for_staff
from apps.core.models import Mail
from apps.leads import subject_requests as requests
from apps.leads.models import Lead, RequestedSubject, SubjectRequest
from apps.leads.subject_requests import (
    PUBLISHED_MAILS,
    publish_requested_subject,
    request_subject,
)
from apps.leads.tests.payloads import SUBJECT_REQUEST
from tests.helpers.factories import make_degree, make_subject, make_university
from tests.helpers.parallel import in_parallel

BOOKED = {
    "name": "Bruno",
    "phone": "600222222",
    "university": "Universidad Abierta",
    "career": "Economía",
    "subject_name": "Econometría II",
}


def ask(email="bruno@example.com", **changes):
    return request_subject(**{**BOOKED, "email": email, **changes})


def told():
    return sorted(Mail.objects.filter(template="subject_published").values_list("to", flat=True))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "other",
    [
        {"subject_name": "ECONOMETRIA  ii"},
        {"subject_name": " econometría II ", "career": "economia"},
        {"university": "UNIVERSIDAD ABIERTA"},
        {"subject_name": "Econometri\u0301a II"},
    ],
    ids=repr,
)
def test_requests_with_different_spelling_share_one_subject(other):
    ask()
    ask("ana@example.com", **other)

    requested = RequestedSubject.objects.get()
    assert (requested.name, requested.requests.count()) == ("Econometría II", 2)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "other",
    [{"subject_name": "Econometría I"}, {"career": "Derecho"}, {"university": "Otra"}],
    ids=repr,
)
def test_different_subjects_are_not_joined(other):
    ask()
    ask("ana@example.com", **other)

    assert RequestedSubject.objects.count() == 2


@pytest.mark.django_db
def test_api_joins_requests_and_stores_each_as_typed(api):
    for name in ("Econometría II", "econometria ii"):
        status, _ = api.post("send-subject-request-email", {**SUBJECT_REQUEST, "subjectName": name})
        assert status == 200

    assert RequestedSubject.objects.count() == 1
    assert list(SubjectRequest.objects.values_list("subject_name", flat=True)) == [
        "Econometría II", "econometria ii",
    ]  # fmt: skip


@pytest.mark.django_db
def test_longest_names_fit():
    ask(university="ß" * 160, career="Œ" * 160, subject_name="ŉ" * 160)

    assert RequestedSubject.objects.count() == 1


@pytest.mark.django_db
def test_publishing_mails_each_address_once(work, mailoutbox):
    ask("ana@example.com")
    ask("bruno@example.com")
    ask("BRUNO@example.com", subject_name="econometria ii")
    ask("carla@example.com", subject_name="Otra asignatura")
    requested = RequestedSubject.objects.get(name="Econometría II")
    degree = make_degree(make_university("Universidad Abierta"), "Economía & Empresa")
    requested.subject = make_subject("Econometría II & III", degree=degree)
    requested.save()
    Mail.objects.all().delete()

    assert publish_requested_subject(requested_id=requested.pk) == (2, 0)
    assert publish_requested_subject(requested_id=requested.pk) == (0, 0)
    work()
    assert sorted(mail.to[0] for mail in mailoutbox) == ["ana@example.com", "bruno@example.com"]
    mail = mailoutbox[0]
    assert mail.subject == "La asignatura que pediste ya está"
    assert "Econometría II & III" in mail.body
    link = (
        f"/compra?universidad={degree.university_id}&carrera={degree.pk}"
        "&buscar=Econometr%C3%ADa+II+%26+III"
    )
    assert link in mail.body
    assert link.replace("&", "&amp;") in mail.alternatives[0][0]


@pytest.mark.django_db
def test_mails_above_the_number_of_an_hour_wait_for_another_press(monkeypatch):
    """One network can type the addresses of a thousand strangers behind one subject."""
    monkeypatch.setattr(requests, "PUBLISHED_MAILS", replace(PUBLISHED_MAILS, times=2))
    for name in ("ana", "bruno", "ana", "carla", "diego", "eva"):
        ask(f"{name}@example.com")
    requested = RequestedSubject.objects.get()
    publish = partial(publish_requested_subject, requested_id=requested.pk)

    with time_machine.travel(timezone.now(), tick=False) as clock:
        assert (publish(), publish()) == ((2, 3), (0, 3))
        assert told() == ["ana@example.com", "bruno@example.com"]
        requested.refresh_from_db()
        assert requested.published_at is None
        assert set(Lead.objects.filter(status="new").values_list("email", flat=True)) == {
            "carla@example.com", "diego@example.com", "eva@example.com",
        }  # fmt: skip

        clock.shift(PUBLISHED_MAILS.seconds)
        ask("ana@example.com")
        assert publish() == (2, 1)
        clock.shift(PUBLISHED_MAILS.seconds)
        assert publish() == (1, 0)
    assert told() == [f"{name}@example.com" for name in ("ana", "bruno", "carla", "diego", "eva")]
    assert not Mail.objects.filter(template="subject_published").exclude(status="queued").exists()
    requested.refresh_from_db()
    assert requested.published_at is not None
    assert not Lead.objects.filter(status="new").exists()


@pytest.mark.django_db
def test_mail_without_a_catalogue_subject_names_none():
    ask()
    publish_requested_subject(requested_id=RequestedSubject.objects.get().pk)
    mail = render_for_staff(Mail.objects.get(template="subject_published"))

    assert "Econometría" not in mail.subject + mail.text + mail.html
    assert "/compra" in mail.text


@pytest.mark.django_db
def test_publishing_marks_only_new_leads_as_answered():
    ask("ana@example.com")
    ask("bruno@example.com")
    Lead.objects.filter(email="ana@example.com").update(status="closed")
    other = ask("carla@example.com", career="Derecho")
    publish_requested_subject(requested_id=RequestedSubject.objects.get(career="Economía").pk)

    status = dict(Lead.objects.values_list("email", "status"))
    assert status == {
        "ana@example.com": "closed", "bruno@example.com": "answered", "carla@example.com": "new",
    }  # fmt: skip
    assert Lead.objects.get(email="bruno@example.com").answered_at is not None
    other.refresh_from_db()
    assert other.answered_at is None


@pytest.mark.django_db
def test_request_after_publication_opens_a_new_row():
    ask("ana@example.com")
    first = RequestedSubject.objects.get()
    publish_requested_subject(requested_id=first.pk)
    ask("bruno@example.com")

    second = RequestedSubject.objects.get(published_at=None)
    assert second != first
    assert told() == ["ana@example.com"]
    assert publish_requested_subject(requested_id=second.pk) == (1, 0)
    assert told() == ["ana@example.com", "bruno@example.com"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_open_one_row():
    numbers = iter(range(8))
    results = in_parallel(lambda: ask(f"visitante{next(numbers)}@example.com"), 8)

    assert all(isinstance(result, Lead) for result in results), results
    assert RequestedSubject.objects.get().requests.count() == 8


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_publishing_mails_each_address_once():
    for number in range(5):
        ask(f"visitante{number}@example.com")
    requested_id = RequestedSubject.objects.get().pk
    results = in_parallel(lambda: publish_requested_subject(requested_id=requested_id), 6)

    assert sorted(results) == [*[(0, 0)] * 5, (5, 0)]
    assert len(told()) == 5


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_request_during_publication_is_mailed_or_kept_open():
    ask("ana@example.com")
    requested_id = RequestedSubject.objects.get().pk
    numbers = iter(range(8))

    def publish_or_ask():
        number = next(numbers)
        return (
            publish_requested_subject(requested_id=requested_id)
            if number == 3
            else ask(f"v{number}@example.com")
        )

    results = in_parallel(publish_or_ask, 8)

    assert not [result for result in results if isinstance(result, Exception)]
    still_open = SubjectRequest.objects.filter(requested_subject__published_at=None)
    waiting = set(still_open.values_list("lead__email", flat=True))
    assert waiting.isdisjoint(told())
    assert waiting | set(told()) == set(Lead.objects.values_list("email", flat=True))
    assert RequestedSubject.objects.filter(published_at=None).count() <= 1
