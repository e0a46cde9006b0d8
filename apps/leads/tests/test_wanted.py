"""Missing subjects: requests for the same one join, and everybody is told exactly once."""

import pytest

from academy.tests.factories import make_degree, make_subject, make_university
from academy.tests.parallel import in_parallel
from apps.core.models import Mail
from apps.leads.models import Lead, SubjectRequest, WantedSubject
from apps.leads.tests.payloads import SUBJECT_REQUEST
from apps.leads.wanted import publish, request_subject

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
def test_requests_join_however_the_subject_is_written(other):
    ask()
    ask("ana@example.com", **other)

    wanted = WantedSubject.objects.get()
    assert (wanted.name, wanted.requests.count()) == ("Econometría II", 2)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "other",
    [{"subject_name": "Econometría I"}, {"career": "Derecho"}, {"university": "Otra"}],
    ids=repr,
)
def test_another_subject_stays_another(other):
    ask()
    ask("ana@example.com", **other)

    assert WantedSubject.objects.count() == 2


@pytest.mark.django_db
def test_the_api_joins_them_and_keeps_what_each_wrote(api):
    for name in ("Econometría II", "econometria ii"):
        status, _ = api.post("send-subject-request-email", {**SUBJECT_REQUEST, "subjectName": name})
        assert status == 200

    assert WantedSubject.objects.count() == 1
    assert list(SubjectRequest.objects.values_list("subject_name", flat=True)) == [
        "Econometría II", "econometria ii",
    ]  # fmt: skip


@pytest.mark.django_db
def test_names_of_the_longest_kind_fit():
    ask(university="ß" * 160, career="Œ" * 160, subject_name="ŉ" * 160)

    assert WantedSubject.objects.count() == 1


@pytest.mark.django_db
def test_everyone_who_asked_is_told_once(work, mailoutbox):
    ask("ana@example.com")
    ask("bruno@example.com")
    ask("BRUNO@example.com", subject_name="econometria ii")
    ask("carla@example.com", subject_name="Otra asignatura")
    wanted = WantedSubject.objects.get(name="Econometría II")
    degree = make_degree(make_university("Universidad Abierta"), "Economía & Empresa")
    wanted.subject = make_subject("Econometría II & III", degree=degree)
    wanted.save()
    Mail.objects.all().delete()

    assert publish(wanted_id=wanted.pk) == 2
    assert publish(wanted_id=wanted.pk) == 0
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
def test_without_a_catalogue_subject_the_mail_names_none():
    ask()
    publish(wanted_id=WantedSubject.objects.get().pk)
    mail = Mail.objects.get(template="subject_published").rendered()

    assert "Econometría" not in mail.subject + mail.text + mail.html
    assert "/compra" in mail.text


@pytest.mark.django_db
def test_publishing_answers_what_was_waiting_and_nothing_else():
    ask("ana@example.com")
    ask("bruno@example.com")
    Lead.objects.filter(email="ana@example.com").update(status="closed")
    other = ask("carla@example.com", career="Derecho")
    publish(wanted_id=WantedSubject.objects.get(career="Economía").pk)

    status = dict(Lead.objects.values_list("email", "status"))
    assert status == {
        "ana@example.com": "closed", "bruno@example.com": "answered", "carla@example.com": "new",
    }  # fmt: skip
    assert Lead.objects.get(email="bruno@example.com").answered_at is not None
    other.refresh_from_db()
    assert other.answered_at is None


@pytest.mark.django_db
def test_who_asks_after_it_was_published_waits_for_the_next_time():
    ask("ana@example.com")
    first = WantedSubject.objects.get()
    publish(wanted_id=first.pk)
    ask("bruno@example.com")

    second = WantedSubject.objects.get(published_at=None)
    assert second != first
    assert told() == ["ana@example.com"]
    assert publish(wanted_id=second.pk) == 1
    assert told() == ["ana@example.com", "bruno@example.com"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_requests_at_the_same_moment_open_one_subject():
    numbers = iter(range(8))
    results = in_parallel(lambda: ask(f"visitante{next(numbers)}@example.com"), 8)

    assert all(isinstance(result, Lead) for result in results), results
    assert WantedSubject.objects.get().requests.count() == 8


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_publishing_at_the_same_moment_tells_everybody_once():
    for number in range(5):
        ask(f"visitante{number}@example.com")
    wanted_id = WantedSubject.objects.get().pk
    results = in_parallel(lambda: publish(wanted_id=wanted_id), 6)

    assert sorted(results) == [0, 0, 0, 0, 0, 5]
    assert len(told()) == 5


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_who_asks_while_it_is_published_is_told_now_or_waits_but_is_never_forgotten():
    ask("ana@example.com")
    wanted_id = WantedSubject.objects.get().pk
    numbers = iter(range(8))

    def publish_or_ask():
        number = next(numbers)
        return publish(wanted_id=wanted_id) if number == 3 else ask(f"v{number}@example.com")

    results = in_parallel(publish_or_ask, 8)

    assert not [result for result in results if isinstance(result, Exception)]
    still_open = SubjectRequest.objects.filter(wanted__published_at=None)
    waiting = set(still_open.values_list("lead__email", flat=True))
    assert waiting.isdisjoint(told())
    assert waiting | set(told()) == set(Lead.objects.values_list("email", flat=True))
    assert WantedSubject.objects.filter(published_at=None).count() <= 1
