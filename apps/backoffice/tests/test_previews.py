"""Previews of what a form would publish, and the links from forms to the site."""

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.urls import reverse

from apps.backoffice.accounts.staff_groups import GROUP_DEFINITIONS
from apps.backoffice.on_site import page_on_site
from apps.backoffice.previews import PREVIEWS
from apps.core.models import LegalText
from apps.pages.models import Faq, PricePlan
from apps.pricing.models import Campaign
from tests.helpers.admin import admin_url, make_staff
from tests.helpers.factories import make_promo, make_subject

pytestmark = pytest.mark.django_db
FAQ = {"question": "¿Hay clases en verano?", "answer": "Sí.", "position": "1"}


def preview(client, label, form, **query):
    return client.post(reverse("admin:preview", args=[label], query=query), form)


@pytest.mark.usefixtures("carla")
def test_preview_shows_the_form_on_the_home_page_and_stores_nothing(client):
    faq = Faq.objects.create(question="¿Antes?", answer="Sí.", position=1)
    new = preview(client, "pages.faq", FAQ).content.decode()
    changed = preview(client, "pages.faq", FAQ, id=faq.pk).content.decode()

    for page in (new, changed):
        assert "<h3>¿Hay clases en verano?</h3>" in page
        assert "No se ha guardado nada" in page
    assert "¿Antes?" in new
    assert "¿Antes?" not in changed
    assert Faq.objects.filter(question="¿Antes?").exists()
    assert not Faq.objects.filter(question=FAQ["question"]).exists()
    assert "No se ha guardado nada" not in client.get("/").content.decode()


@pytest.mark.usefixtures("carla")
def test_preview_of_a_plan_shows_it_and_an_invalid_form_says_why(client):
    form = {"name": "Plan verano", "price": "19,90", "position": "9", "included": "Todo"}
    assert "<h3>Plan verano" in preview(client, "pages.priceplan", form).content.decode()
    refused = preview(client, "pages.priceplan", {**form, "price": "-1"})
    assert refused.status_code == 200
    assert "Así no se puede publicar" in refused.content.decode()
    assert not PricePlan.objects.filter(name="Plan verano").exists()


@pytest.mark.usefixtures("carla")
def test_forms_with_a_preview_have_its_button_and_others_have_none(client):
    faq = Faq.objects.create(**FAQ)
    form = client.get(admin_url(Faq, "change", faq.pk)).content.decode()
    assert f'formaction="/admin/vista-previa/pages.faq?id={faq.pk}#faq"' in form
    assert (
        'formaction="/admin/vista-previa/'
        in client.get(admin_url(Campaign, "add")).content.decode()
    )
    subject = make_subject("Álgebra")
    assert "vista-previa" not in client.get(admin_url(type(subject), "add")).content.decode()


def test_preview_needs_the_permission_of_the_form(client):
    client.force_login(User.objects.create_user("lucia", is_staff=True))
    assert preview(client, "pages.faq", FAQ).status_code == 403
    assert preview(client, "auth.user", FAQ).status_code == 404


PLAN = {"name": "Plan verano", "price": "19,90", "position": "9", "included": "Todo"}
CAMPAIGN = {
    "name": "Semana", "active": "on", "cart": "on", "banner": "on", "percent": 10,
    "first_on": "01/03/2027", "last_on": "08/03/2027", "first_hour": 0, "last_hour": 24,
}  # fmt: skip
FORMS = {"pages.faq": FAQ, "pages.priceplan": PLAN, "pricing.campaign": CAMPAIGN}


@pytest.mark.parametrize("group", [group.name for group in GROUP_DEFINITIONS])
def test_each_preview_answers_a_user_of_each_group(client, group):
    user = make_staff("lola", group=group, client=client)
    assert FORMS.keys() == PREVIEWS.keys()
    for label, form in FORMS.items():
        app, _, model = label.partition(".")
        rows = apps.get_model(label).objects
        before = rows.count()
        page = preview(client, label, form)
        if user.has_perm(f"{app}.add_{model}"):
            assert "No se ha guardado nada" in page.text
        else:
            assert page.status_code == 403
        assert rows.count() == before


def test_preview_of_a_campaign_above_the_limit_says_why(client):
    make_staff("lola", group="Contenido", client=client)
    refused = preview(client, "pricing.campaign", {**CAMPAIGN, "percent": 80})
    assert "Así no se puede publicar" in refused.text


@pytest.mark.usefixtures("carla")
def test_preview_of_odd_addresses_is_refused(client):
    assert client.get(reverse("admin:preview", args=["pages.faq"])).status_code == 405
    assert preview(client, "nobody.knows", {}).status_code == 404
    assert preview(client, "pages.faq", FAQ, id="9" * 18).status_code == 404


def test_public_rows_lead_to_the_page_that_shows_them(client, carla):
    subject = make_subject("Álgebra lineal")
    degree, faq = subject.degree, Faq.objects.create(**FAQ)
    rows = [subject, degree, degree.university, faq, make_promo(), LegalText.objects.first()]
    for row in rows:
        page = page_on_site(row)
        assert page, row
        assert client.get(page.partition("#")[0]).status_code == 200, page
        assert (
            f'href="{page}"'.replace("&", "&amp;")
            in client.get(admin_url(type(row), "change", row.pk)).content.decode()
        ), row
    subject.active = False
    assert page_on_site(subject) == ""
    assert page_on_site(carla) == ""
