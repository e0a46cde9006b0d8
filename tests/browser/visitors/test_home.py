"""The home page: video, testimonials carousel, institution strip, FAQ, campaign banner."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils.formats import date_format
from playwright.sync_api import Locator, Page, Route, expect

from apps.core.dates import today
from apps.pricing.models import Campaign
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.visitor import next_frame, settled, wait_until

PLAYER = "https://player.vimeo.com/**"
READY = "<!doctype html><script>parent.postMessage('{\"event\":\"ready\"}', '*')</script>"
SILENT = "<!doctype html><p>Nada</p>"


# ---------------------------------------------------------------- video
def answer_with(page: Page, html: str) -> list[str]:
    """Replace the video's host. Returns the requested addresses."""
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(body=html, content_type="text/html")

    page.route(PLAYER, answer)
    return asked


def poster(page: Page) -> Locator:
    return page.get_by_role("link", name="Reproducir el vídeo de presentación")


def test_video_player_loads_on_click_with_autoplay_sound_and_controls_and_not_before(visitor):
    page = visitor.page
    asked = answer_with(page, READY)
    page.goto("/")
    picture = page.get_by_role("img", name="Una asignatura por dentro")
    for size, scheme in ((PHONE, "dark"), (DESKTOP, "light")):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("naturalWidth", 960)
        shown = picture.evaluate("async (image) => (await image.decode(), image.currentSrc)")
        assert ("classroom-dark-" in shown) == (scheme == "dark")
    poster(page).hover()
    next_frame(page)
    expect(page.locator("[data-island=video] iframe")).to_have_count(0)
    assert asked == []

    poster(page).click()
    frame = page.locator("iframe[title='Vídeo de presentación']")
    expect(page.locator("[data-island=video]")).to_have_attribute("data-state", "loaded")
    expect(frame).to_be_visible()
    expect(page.get_by_text("Cargando video...")).to_have_count(0)
    assert len(asked) == 1
    url = urlsplit(asked[0])
    assert f"{url.scheme}://{url.netloc}" == "https://player.vimeo.com"
    assert parse_qs(url.query) == {
        "autoplay": ["1"], "muted": ["0"], "controls": ["1"], "loop": ["0"], "dnt": ["1"],
    }  # fmt: skip
    assert frame.get_attribute("sandbox") == "allow-scripts allow-same-origin allow-presentation"
    assert "autoplay" in str(frame.get_attribute("allow"))


def test_video_shows_cargando_then_after_8_s_an_error_with_the_button_ver_en_vimeo(visitor):
    page = visitor.page
    page.clock.install()
    answer_with(page, SILENT)
    page.goto("/")
    video = page.locator("[data-island=video]")
    # The island's own moments: on a busy machine the test notices them late.
    video.evaluate(
        """video => {
            window.moments = [];
            const note = () => moments.push([video.dataset.state, Date.now()]);
            new MutationObserver(note).observe(video, { attributeFilter: ["data-state"] });
        }"""
    )
    poster(page).click()
    expect(page.get_by_text("Cargando video...", exact=True)).to_be_visible()
    page.clock.run_for(8000)
    expect(video.get_by_text("Error al cargar el video", exact=True)).to_be_visible()
    (state, began), (_, failed) = page.evaluate("moments")
    assert state == "loading"
    # The time begins a moment before the state is drawn.
    assert failed - began > 6500
    expect(video.locator("iframe")).to_have_count(0)
    way_out = video.get_by_role("link", name="Ver en Vimeo", exact=True)
    expect(way_out).to_be_focused()
    assert way_out.get_attribute("href") == "https://vimeo.com/76979871"
    assert way_out.get_attribute("target") == "_blank"
    visitor.assert_accessible()


def test_messages_of_other_frames_do_not_mark_the_video_as_loaded(visitor):
    page = visitor.page
    answer_with(page, SILENT)
    page.goto("/")
    poster(page).click()
    expect(page.get_by_text("Cargando video...")).to_be_visible()
    # Messages arrive in the order in which they were sent.
    settled(
        page,
        """() => new Promise(arrived => {
             addEventListener("message", () => arrived(), { once: true });
             postMessage({ event: "ready" }, "*");
           })""",
    )
    next_frame(page)
    expect(page.locator("[data-island=video]")).to_have_attribute("data-state", "loading")


# ---------------------------------------------------------------- testimonials
def open_carousel(page: Page) -> Locator:
    page.goto("/")
    page.locator("#testimonios").scroll_into_view_if_needed()
    expect(page.locator("[data-island=testimonials][data-mounted]")).to_be_attached()
    return page.get_by_role("group", name="Opiniones")


def slides_in_view(carousel: Locator) -> list[int]:
    """The numbers of the slides that are completely visible."""
    return list(
        carousel.locator(".carousel__track").evaluate(
            """track => {
              const { left, right } = track.getBoundingClientRect();
              const slides = [...track.children].filter(slide => !("copy" in slide.dataset));
              return slides.flatMap((slide, number) => {
                const box = slide.getBoundingClientRect();
                return box.left >= left - 2 && box.right <= right + 2 ? [number] : [];
              });
            }"""
        )
    )


def expect_slides(carousel: Locator, *numbers: int) -> None:
    wait_until(carousel.page, lambda: slides_in_view(carousel) == list(numbers))


def test_carousel_shows_1_2_or_3_testimonials_by_screen_width(visitor):
    page = visitor.page
    carousel = open_carousel(page)
    for width, in_view in ((390, [0]), (768, [0, 1]), (1024, [0, 1, 2]), (1440, [0, 1, 2])):
        page.set_viewport_size({"width": width, "height": 900})
        expect_slides(carousel, *in_view)
        for name in ("Opinión anterior", "Opinión siguiente"):
            expect(carousel.get_by_role("button", name=name)).to_be_visible(visible=width >= 768)
        expect(page.get_by_text("4,78/5", exact=True).last).to_be_visible()
        expect(page.get_by_text("128 reseñas", exact=True)).to_be_visible()


def test_carousel_loops_when_it_is_swiped_on_a_phone(phone):
    carousel = open_carousel(phone.page)
    track = carousel.locator(".carousel__track")
    expect_slides(carousel, 0)
    count = track.locator("li:not([data-copy])").count()

    # As a swipe over the start of the list ends: at the copy of the last slide.
    track.evaluate("track => track.scrollTo({ left: 0 })")
    expect_slides(carousel, count - 1)
    track.evaluate("track => track.scrollTo({ left: track.scrollWidth })")
    expect_slides(carousel, 0)


def test_carousel_moves_and_loops_by_its_buttons_and_moves_by_the_arrow_keys(visitor):
    carousel = open_carousel(visitor.page)
    after = carousel.get_by_role("button", name="Opinión siguiente")
    before = carousel.get_by_role("button", name="Opinión anterior")
    after.click()
    expect_slides(carousel, 1, 2, 3)
    before.click()
    expect_slides(carousel, 0, 1, 2)
    before.click()
    expect_slides(carousel, 3, 4, 5)
    after.click()
    expect_slides(carousel, 0, 1, 2)
    carousel.locator(".carousel__track").focus()
    visitor.page.keyboard.press("ArrowRight")
    expect_slides(carousel, 1, 2, 3)
    visitor.page.keyboard.press("ArrowLeft")
    expect_slides(carousel, 0, 1, 2)


def test_nothing_moves_by_itself_for_ever_but_the_strip_of_institutions(visitor):
    page = visitor.page
    page.clock.install()
    carousel = open_carousel(page)
    page.mouse.move(5, 100)
    page.clock.run_for(20_000)
    expect_slides(carousel, 0, 1, 2)
    loops = page.evaluate(
        """() => document.getAnimations()
             .filter((one) => one.effect.getComputedTiming().iterations === Infinity)
             .map((one) => one.effect.target.className)"""
    )
    assert set(loops) == {"institutions__list"}
    strip = page.locator(".institutions__list").first
    expect(strip).to_have_css("animation-play-state", "running")
    page.get_by_label("Pausar", exact=True).check()
    expect(strip).to_have_css("animation-play-state", "paused")


# ---------------------------------------------------------------- the rest of the page
def test_faq_has_one_open_question_at_a_time(visitor):
    page = visitor.page
    page.goto("/")
    questions = page.locator("#faq details")
    expect(questions).to_have_count(6)
    questions.nth(0).locator("summary").click()
    expect(questions.nth(0).locator("p").first).to_be_visible()
    questions.nth(3).locator("summary").click()
    expect(questions.nth(3).locator("p").first).to_be_visible()
    expect(questions.nth(0).locator("p").first).to_be_hidden()


def test_testimonials_and_faq_can_be_read_without_javascript(new_visitor):
    page = new_visitor(java_script_enabled=False).page
    page.goto("/#faq")
    expect(page.locator("#faq")).to_be_in_viewport()
    page.locator("#faq summary").first.click()
    expect(page.locator("#faq details p").first).to_be_visible()
    expect(page.locator(".testimonial").nth(5)).to_be_attached()
    expect(page.locator(".testimonial").first).to_be_visible()
    expect(page.get_by_role("button", name="Opinión siguiente")).to_be_hidden()
    login = page.get_by_role("banner").get_by_role("link", name="Iniciar sesión")
    expect(login).to_be_visible()


@pytest.fixture
def offer(stack):
    """The campaign in the banner of the home page, in every month."""
    month = today().month
    campaign = Campaign.objects.create(
        name=date_format(today(), "F").capitalize(), percent=20, banner=True, calculator=False,
        cart=False, first_month=month, first_day=1, last_month=month, last_day=31,
    )  # fmt: skip
    yield campaign
    campaign.delete()


@pytest.mark.usefixtures("offer")
def test_campaign_banner_on_home_collapses_after_the_hero_has_left_the_view(visitor):
    page = visitor.page
    page.goto("/")
    offer = f"Solo en {date_format(today(), 'F')}"
    banner = page.get_by_text(f"{offer}: 20 % de descuento")
    expect(banner).to_be_visible()
    visitor.assert_accessible()
    page.evaluate("scrollTo({top: 150, behavior: 'instant'})")
    expect(banner).to_be_in_viewport()
    page.locator("#metodo").evaluate("element => element.scrollIntoView({behavior: 'instant'})")
    expect(banner).to_be_hidden()
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    expect(banner).to_be_visible()
    page.goto("/nosotros")
    expect(page.get_by_text(offer)).to_have_count(0)


# ---------------------------------------------------------------- loading
def test_home_loads_only_the_loader_script_until_the_visitor_interacts(visitor):
    page = visitor.page
    scripts: list[str] = []
    page.on(
        "request",
        lambda request: (
            scripts.append(urlsplit(request.url).path.rpartition("/")[2].partition("-")[0])
            if request.resource_type == "script"
            else None
        ),
    )
    page.clock.install()
    page.goto("/")
    page.clock.run_for(10_000)
    expect(page.locator(".help summary")).to_be_visible()
    assert scripts == ["main"]


CLIPPED = "(step) => parseFloat(getComputedStyle(step).clipPath.split(' ')[2] ?? '0')"


def clipped(page: Page) -> float:
    """How much of the open step is still rolled up, in percent of its height."""
    return float(page.locator(".sheet [open] .sheet__step").evaluate(CLIPPED))


def scroll_step_to(page: Page, share: float) -> None:
    """Scroll until the step begins at this share of the window's height."""
    page.locator(".sheet [open] .sheet__step").evaluate(
        "(step, share) => scrollBy({ top: step.getBoundingClientRect().top"
        " - innerHeight * share, behavior: 'instant' })",
        share,
    )
    next_frame(page)


def test_step_unrolls_as_one_scrolls_past_it(phone):
    page = phone.page
    page.goto("/")
    scroll_step_to(page, 0.95)
    rolled_up = clipped(page)
    scroll_step_to(page, 0.75)
    halfway = clipped(page)
    scroll_step_to(page, 0.4)
    assert 85 >= rolled_up > halfway > 0
    wait_until(page, lambda: clipped(page) == 0)
    # The page does not jump: what is unrolled has its room from the start.
    expect(page.locator(".sheet [open] .sheet__step")).to_be_in_viewport()


@pytest.mark.parametrize(
    "options", [{"reduced_motion": "reduce", "viewport": PHONE}, {"viewport": None}]
)
def test_step_is_open_with_reduced_motion_and_where_the_sheet_needs_no_scrolling(
    new_visitor, options
):
    page = new_visitor(**{key: value for key, value in options.items() if value}).page
    page.goto("/")
    wait_until(page, lambda: clipped(page) == 0)
