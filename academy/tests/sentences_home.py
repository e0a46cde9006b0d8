"""Which test would fail without which sentence about header, home, team and footer.

The public site's specification, sections 2, 4, 8 and 9, in the manner of `sentences.py`.
"""

from academy.tests.sentences import BROWSER, LIB, Row

HEADER = f"{BROWSER}/test_site_header.py"
ALIVE = f"{BROWSER}/test_site_home.py"
HOME_PAGE = "apps/pages/tests/test_home.py"
PAGES = "apps/pages/tests/test_pages.py"
SLIDES = "static_src/islands/testimonials/slides.test.ts"
PLAYER = "static_src/islands/video/player.test.ts"


def _row(section: int, sentence: str, *tests: str) -> Row:
    return Row(section, sentence, tests)


HOME = (
    _row(
        2,
        "/: Home. Anchors: #metodo, #faq, #testimonios, #precios, #contacto",
        f"{HOME_PAGE}::test_the_sections_stand_in_their_order_with_their_anchors",
        f"{PAGES}::test_every_page_answers_with_its_heading_and_sets_no_cookie",
    ),
    _row(
        2,
        "/servicios: Platform demo and the two plans",
        f"{PAGES}::test_services_show_the_demo_and_the_two_plans",
        f"{BROWSER}/test_site_plan_preview.py::test_the_full_plan_opens_all_six_and_begins_with_pec_2",
    ),
    _row(
        2,
        "/nosotros: Teachers",
        f"{HOME_PAGE}::test_a_teacher_has_a_name_a_degree_and_initials_for_a_photo",
        f"{HOME_PAGE}::test_samples_are_shown_while_developing_and_never_on_a_real_site",
    ),
    _row(
        2,
        "/precios: Prices. Anchors: #presupuesto (budget calculator, also reached as "
        "#calculadora), #descuentos (discounts)",
        "apps/pages/tests/test_calculator.py::test_the_anchors_of_the_prices_are_what_they_say",
        "apps/pages/tests/test_calculator.py::test_the_discounts_section_advertises_every_offer",
        f"{HEADER}::test_a_link_to_another_page_s_section_scrolls_300_ms_after_it_has_loaded",
    ),
    _row(
        2,
        "/compra: Purchase of subjects (second document)",
        f"{PAGES}::test_every_page_answers_with_its_heading_and_sets_no_cookie",
    ),
    _row(
        2,
        "/login: Access to the platform (second document)",
        f"{PAGES}::test_login_says_that_it_is_being_maintained_and_takes_no_data",
    ),
    _row(
        2,
        "/privacidad, /terminos, /cookies, /aviso-legal: Legal pages",
        f"{PAGES}::test_legal_texts_are_dated_10_july_2025",
        f"{PAGES}::test_privacy_has_the_cookie_policy_too",
    ),
    _row(
        2,
        "On entering a page it scrolls to the top; when a hash target is present it scrolls "
        "smoothly to it after about 200 ms.",
        f"{HEADER}::test_a_page_opens_at_its_top_and_going_back_keeps_the_place",
        f"{HEADER}::test_an_address_with_a_target_begins_at_the_top_and_scrolls_after_200_ms",
        f"{HEADER}::test_whoever_prefers_less_motion_is_there_at_once",
    ),
    _row(
        2,
        "Links that navigate to another route and then scroll to an anchor (contact, budget, "
        "discounts) scroll after 300 ms.",
        f"{HEADER}::test_a_link_to_another_page_s_section_scrolls_300_ms_after_it_has_loaded",
        f"{LIB}/anchors.test.ts::scrolls to any other target after 200 ms",
    ),
    _row(
        2,
        "Logo linking to home.",
        f"{HOME_PAGE}::test_the_logo_leads_home_from_every_page",
    ),
    _row(
        2,
        "Items: Demo plataforma (hover menu with Plan PEC Individual and Plan Asignatura Completa, "
        "both to /servicios), Nuestros profesores (/nosotros), Precios (hover menu with 'Generar "
        "presupuesto instantáneo' and 'Descuentos'; clicking Precios goes to /precios), Contacto "
        "(scrolls to the contact section on home, otherwise goes to home with the contacto anchor "
        "then scrolls).",
        f"{HEADER}::test_menus_open_as_the_mouse_enters_and_close_as_it_leaves",
        f"{HEADER}::test_clicking_prices_goes_to_the_prices",
        f"{HEADER}::test_contact_on_home_scrolls_there_without_loading_anything",
        f"{HEADER}::test_a_link_to_another_page_s_section_scrolls_300_ms_after_it_has_loaded",
    ),
    _row(
        2,
        "Right side: 'Iniciar sesión' (short label 'Ingresar' on smaller widths) opening the "
        "external learning portal in a new tab, and 'Compra asignaturas' (short 'Comprar') to "
        "/compra.",
        f"{HEADER}::test_on_smaller_widths_the_buttons_have_short_names",
        f"{HEADER}::test_on_a_wide_screen_they_are_spelled_out_and_the_portal_opens_in_a_new_tab",
    ),
    _row(
        2,
        "Hover menus open on mouse enter and close on mouse leave.",
        f"{HEADER}::test_menus_open_as_the_mouse_enters_and_close_as_it_leaves",
        f"{HEADER}::test_menus_open_and_close_by_keyboard",
        f"{HEADER}::test_menus_open_and_close_by_touch",
    ),
    _row(
        2,
        "On home the login button stays invisible until the visitor has scrolled past the video "
        "section; on other routes it is always visible.",
        f"{HEADER}::test_on_home_signing_in_waits_until_the_video_has_been_passed",
        f"{HEADER}::test_on_a_wide_screen_they_are_spelled_out_and_the_portal_opens_in_a_new_tab",
    ),
    _row(
        2,
        "The bar is fixed at the top and is darker on /compra.",
        f"{HEADER}::test_the_bar_stays_at_the_top_and_is_darker_on_the_purchase_page",
    ),
    _row(
        2,
        "It has a 'free subject' action that opens the free-subject modal.",
        f"{HEADER}::test_the_free_subject_is_asked_for_from_the_header",
    ),
    _row(
        2,
        "Items: Demo plataforma, Nuestros profesores, Opiniones (scrolls to testimonios), Precios, "
        "budget generator, Descuentos, Contacto, 'Iniciar sesión' and 'Compra asignaturas'. The "
        "mobile breakpoint is under 768 px.",
        f"{HEADER}::test_the_phone_s_menu_has_its_items_and_leads_to_the_testimonials",
        f"{HEADER}::test_the_phone_s_menu_closes_with_escape_and_with_a_touch_beside_it",
        f"{HEADER}::test_on_smaller_widths_the_buttons_have_short_names",
    ),
    _row(
        2,
        "1. Hero: 'the online academy for online university students', a strip of university logos "
        "and the rating badge.",
        f"{PAGES}::test_every_page_answers_with_its_heading_and_sets_no_cookie",
        f"{HOME_PAGE}::test_the_university_strip_shows_the_open_one_and_those_coming_soon",
        f"{HOME_PAGE}::test_the_rating_badge_opens_the_marketplace_in_a_new_tab",
    ),
    _row(
        2,
        "2. Video section: a poster with a play button; on click an embedded player from a video "
        "host loads with autoplay, unmuted, controls on, no loop, sandboxed.",
        f"{ALIVE}::test_the_video_is_loaded_by_a_click_and_not_before",
        f"{PLAYER}::the player starts at once, with sound and controls, does not loop and does "
        "not track",
    ),
    _row(
        2,
        "While loading it shows 'Cargando video...'. On failure it shows 'Error al cargar el "
        "video' and a button 'Ver en Vimeo' (opens the video in a new tab).",
        f"{ALIVE}::test_a_video_that_does_not_answer_within_8_s_is_an_error_with_a_way_out",
        f"{ALIVE}::test_other_frames_cannot_say_that_the_video_is_ready",
    ),
    _row(
        2,
        "3. Method: four statistic tiles and a 12-item feature checklist.",
        f"{HOME_PAGE}::test_the_method_has_four_figures_and_twelve_features",
    ),
    _row(
        2,
        "4. Scrolling strip of four institution logos where students work.",
        f"{ALIVE}::test_the_strip_of_institutions_loops_and_can_be_stopped",
    ),
    _row(
        2,
        "5. 'What makes us different': teacher and platform cards and a 'buy subjects' button to "
        "/compra.",
        f"{HOME_PAGE}::test_what_makes_us_different_leads_to_buying",
    ),
    _row(
        2,
        "6. Testimonials carousel: heading, overall rating 4,78/5, label '128 reseñas'. It loops; "
        "1 slide per view on small screens, 2 on medium, 3 on large; previous and next buttons on "
        "medium and up; arrow-key navigation. Each testimonial shows text, name (initial in an "
        "avatar) and degree.",
        f"{ALIVE}::test_the_carousel_shows_one_two_or_three_at_a_time",
        f"{ALIVE}::test_the_buttons_lead_on_and_around",
        f"{ALIVE}::test_the_arrow_keys_lead_on_and_back",
        f"{ALIVE}::test_a_swipe_moves_one_slide_on",
        f"{HOME_PAGE}::test_testimonials_are_read_without_javascript",
        f"{SLIDES}::it loops, in both directions",
    ),
    _row(
        2,
        "7. FAQ: single-open accordion with six questions: supported universities, degrees "
        "covered, services offered, sharing an account, teacher experience, payment methods.",
        f"{HOME_PAGE}::test_the_faq_answers_six_questions_one_at_a_time",
        f"{ALIVE}::test_only_one_question_is_open_at_a_time",
    ),
    _row(
        2,
        "8. Pricing: two plan cards joined by an 'o' separator, each with a 'Ver demo' link to "
        "/servicios.",
        f"{HOME_PAGE}::test_the_two_plans_are_joined_by_an_o_and_lead_to_the_demo",
    ),
    _row(
        2,
        "10. Contact form section.",
        f"{HOME_PAGE}::test_the_sections_stand_in_their_order_with_their_anchors",
    ),
    _row(
        2,
        "A limited-time offer 'only during August' is referenced on home, and a banner observer "
        "runs only on home.",
        f"{HOME_PAGE}::test_the_offer_of_august_is_on_home_during_august_only",
        f"{BROWSER}/test_site_months.py::test_banner_quote_and_cart_go_by_the_server_s_month",
        f"{ALIVE}::test_the_offer_collapses_once_the_hero_has_left_the_view",
    ),
    _row(
        2,
        "Contact channels shown: a phone number, a chat-message link and a support e-mail address; "
        "location Madrid, Spain.",
        f"{HOME_PAGE}::test_the_contact_block_has_phone_chat_mail_and_place",
    ),
    _row(
        2,
        "Quick links, contact block, 'Matricularme ahora' (to /compra), 'Acceder a la plataforma' "
        "(to /login), four legal links; copyright year 2025.",
        f"{HOME_PAGE}::test_the_footer_has_its_links",
    ),
    _row(
        2,
        "Appears 4 s after load, with separate mobile and desktop versions. Collapsed it is a "
        "round button; expanded it is a card titled 'Tienes dudas?' with buttons Comprar (to "
        "/compra), Presupuesto (to /precios#presupuesto), a chat-message button (opens a chat link "
        "in a new tab with a prefilled greeting asking for more information) and Email (opens a "
        "mail link). It can be minimised or closed; closing hides it until reload.",
        f"{HEADER}::test_help_appears_4_s_after_the_page_and_stays_away_once_closed",
    ),
    _row(
        4,
        "Help widget: hidden, then visible after 4 s, then collapsed or expanded; closing hides it "
        "until reload.",
        f"{HEADER}::test_help_appears_4_s_after_the_page_and_stays_away_once_closed",
    ),
    _row(
        4,
        "Video: poster, then loading, then loaded or error.",
        f"{ALIVE}::test_the_video_is_loaded_by_a_click_and_not_before",
        f"{ALIVE}::test_a_video_that_does_not_answer_within_8_s_is_an_error_with_a_way_out",
    ),
    _row(
        4,
        "Hover and mobile menus: open and closed only.",
        f"{HEADER}::test_menus_open_and_close_by_keyboard",
        f"{HEADER}::test_the_phone_s_menu_closes_with_escape_and_with_a_touch_beside_it",
    ),
    _row(
        8,
        "Video failure: 'Error al cargar el video' with button 'Ver en Vimeo'.",
        f"{ALIVE}::test_a_video_that_does_not_answer_within_8_s_is_an_error_with_a_way_out",
    ),
    _row(
        9,
        "Individual PEC plan: 55 EUR per PEC",
        f"{HOME_PAGE}::test_the_two_plans_are_joined_by_an_o_and_lead_to_the_demo",
    ),
    _row(
        9,
        "Full-subject plan: from 39 EUR per PEC, 3 instalments",
        f"{HOME_PAGE}::test_the_two_plans_are_joined_by_an_o_and_lead_to_the_demo",
        f"{HOME_PAGE}::test_the_promotional_notes_stand_on_home_prices_and_legal_pages",
    ),
    _row(
        9,
        "Help widget delay: 4 s",
        f"{HEADER}::test_help_appears_4_s_after_the_page_and_stays_away_once_closed",
    ),
    _row(
        9,
        "Anchor scroll delay: 200 ms on entry, 300 ms after navigation",
        f"{HEADER}::test_an_address_with_a_target_begins_at_the_top_and_scrolls_after_200_ms",
        f"{HEADER}::test_a_link_to_another_page_s_section_scrolls_300_ms_after_it_has_loaded",
    ),
    _row(
        9,
        "Logo strip loop: 7 s on mobile, 10 s on desktop",
        f"{ALIVE}::test_the_strip_of_institutions_loops_and_can_be_stopped",
    ),
    _row(
        9,
        "Statistics: +400 students, 16 teachers, 8.3, 10 degrees; rating 4.78/5 from 128 reviews",
        f"{HOME_PAGE}::test_the_method_has_four_figures_and_twelve_features",
        f"{HOME_PAGE}::test_the_rating_badge_opens_the_marketplace_in_a_new_tab",
    ),
    _row(
        9,
        "Feature checklist (12): 100% Online; A tu ritmo; PECs personalizadas resueltas; Vídeo "
        "explicativo por PEC; Teoría explicada; Documentos y recursos; Soporte académico; App y "
        "plataforma; Notificaciones de entrega; Ejercicios tipo test; Siempre organizado y al día; "
        "Asegúrate el aprobado",
        f"{HOME_PAGE}::test_the_method_has_four_figures_and_twelve_features",
    ),
    _row(
        9,
        "Tooltips: open delay 700 ms, skip delay 300 ms",
        f"{HEADER}::test_a_tooltip_opens_after_700_ms_and_the_next_at_once_within_300_ms",
        f"{HEADER}::test_a_name_that_is_cut_off_is_shown_whole_and_one_that_fits_is_not_repeated",
    ),
    _row(
        9,
        "Toast notifications: about 4 s display, up to 3 visible",
        f"{HEADER}::test_a_toast_stays_4_s_and_a_fourth_sends_the_first_away",
    ),
)
