"""Which test would fail without which sentence of the public site's specification.

Sections 2, 4, 5, 8 and 9, in the manner of `sentences.py`. The header, home and what surrounds
every page stand in `sentences_home.py`, everything that is asked, computed or sent in FORMS.
"""

from academy.tests.sentences import BROWSER, LIB, Row
from academy.tests.sentences_home import HOME

CALCULATOR = f"{BROWSER}/test_site_calculator.py"
FORM = f"{BROWSER}/test_site_forms.py"
MONTHS = f"{BROWSER}/test_site_months.py"
PRICES = "apps/pages/tests/test_calculator.py"
PAGES = "apps/pages/tests/test_pages.py"
STATE = "static_src/islands/calculator/state.test.ts"
MESSAGES = "apps/leads/tests/test_messages.py"
SCHEMA = "static_src/schemas/leads.test.ts"


def _row(section: int, sentence: str, *tests: str) -> Row:
    return Row(section, sentence, tests)


CALCULATOR_AND_FORMS = (
    _row(
        2,
        "Discounts section (#descuentos) with a discount-request dialog, and the budget calculator "
        "(#presupuesto / #calculadora).",
        f"{PRICES}::test_the_discounts_section_advertises_every_offer",
        f"{FORM}::test_the_discount_dialog_offers_the_careers_and_sends_a_personal_code",
    ),
    _row(
        2,
        "Referral reward text: 25 or 20 EUR per invited friend who buys at least one subject.",
        f"{PRICES}::test_the_discounts_section_advertises_every_offer",
    ),
    _row(
        2,
        "1. Form: number of subjects, full payment toggle, invited toggle (reveals friend code "
        "with an 'Aplicar' button and invitee count).",
        f"{CALCULATOR}::test_the_form_has_six_numbers_and_shows_the_friend_s_fields_to_the_invited",
        f"{CALCULATOR}::test_a_friend_code_that_is_not_blank_is_ticked_at_once",
    ),
    _row(
        2,
        "a back button; a university selector (placeholder 'Selecciona una universidad', options "
        "show name then acronym in brackets; 'Cargando...' while loading)",
        f"{CALCULATOR}::test_the_cascade_asks_for_university_degree_and_subjects_in_turn",
        f"{CALCULATOR}::test_lists_say_that_they_are_loading",
        f"{CALCULATOR}::test_back_returns_to_the_form_and_keeps_what_was_chosen",
    ),
    _row(
        2,
        "a degree selector (label 'Carrera', placeholder 'Selecciona una carrera') that appears "
        "only once a university is chosen",
        f"{CALCULATOR}::test_the_cascade_asks_for_university_degree_and_subjects_in_turn",
    ),
    _row(
        2,
        "a heading 'Selecciona N asignatura(s)' (plural when N>1) and N selectors labelled "
        "'Asignatura 1'..'Asignatura N' (placeholder 'Selecciona una asignatura')",
        f"{CALCULATOR}::test_the_cascade_asks_for_university_degree_and_subjects_in_turn",
        f"{CALCULATOR}::test_one_subject_is_asked_for_in_the_singular",
    ),
    _row(
        2,
        "Each option shows the subject name, a dash and the final price with the euro sign.",
        f"{CALCULATOR}::test_the_cascade_asks_for_university_degree_and_subjects_in_turn",
    ),
    _row(
        2,
        "A subject picked in one selector is hidden from the others.",
        f"{CALCULATOR}::test_the_cascade_asks_for_university_degree_and_subjects_in_turn",
        f"{STATE}::hides a picked subject from the other selectors, not from its own",
    ),
    _row(
        2,
        "Button 'Ver presupuesto' is disabled until every selector is filled. The action to "
        "continue is labelled 'Calcular Presupuesto' on the form step.",
        f"{CALCULATOR}::test_the_cascade_asks_for_university_degree_and_subjects_in_turn",
    ),
    _row(
        2,
        "3. Results: base price, discount lines, final price, selected subjects, shown blurred at "
        "first with the button 'Ver presupuesto completo' opening a contact overlay (email, "
        "phone).",
        f"{CALCULATOR}::test_the_result_is_blurred_until_it_is_sent_and_equals_the_server_s",
    ),
    _row(
        2,
        "9. Budget calculator card titled 'Calculadora de Presupuesto' (also on /precios).",
        f"{CALCULATOR}::test_the_calculator_on_home_is_the_same",
        f"{CALCULATOR}::test_the_form_has_six_numbers_and_shows_the_friend_s_fields_to_the_invited",
    ),
    _row(
        2,
        "Title 'Solicita tu asignatura gratis!'. Fields Email (placeholder '{email}'), Teléfono "
        "(placeholder '+34 123 456 789'), Carrera (placeholder 'Ej: Psicología, Educación "
        "Social...'), checkbox 'Acepto los términos y condiciones'. Buttons Cancelar and "
        "Solicitar.",
        f"{FORM}::test_the_free_subject_modal_closes_resets_and_sends_its_request",
    ),
    _row(
        2,
        "Fields phone, email, career (choice list), terms acceptance.",
        f"{FORM}::test_the_discount_dialog_offers_the_careers_and_sends_a_personal_code",
    ),
    _row(
        2,
        "Career options: ade, comunicacion, derecho, economia, educacion-primaria, "
        "educacion-social, logopedia, marketing, psicologia, relaciones-laborales, turismo, otras.",
        f"{FORM}::test_the_discount_dialog_offers_the_careers_and_sends_a_personal_code",
        f"{MESSAGES}::test_the_careers_of_the_discount_request_are_those_of_the_specification",
    ),
    _row(
        2,
        "A banner that expands or collapses and opens a new-subject request dialog. It promises an "
        "e-mail answer within 24 h.",
        f"{FORM}::test_the_missing_subject_banner_expands_collapses_and_promises_24_hours",
        f"{FORM}::test_a_missing_subject_is_asked_for",
    ),
    _row(
        2,
        "Form with name, email, phone (optional), message and a privacy acceptance.",
        f"{FORM}::test_a_message_is_sent_kept_and_the_form_is_empty_again",
    ),
    _row(
        4,
        "Budget calculator: form, then subjects (on 'Calcular Presupuesto'), then results (once "
        "the subjects are chosen and the price computed). Back returns to the form.",
        f"{STATE}::goes on to the result only with every selector filled",
        f"{STATE}::goes back to the form from both later steps",
        f"{CALCULATOR}::test_the_whole_way_by_keyboard",
    ),
    _row(
        4,
        "The result starts blurred; 'Ver presupuesto completo' shows the contact overlay;",
        f"{CALCULATOR}::test_the_result_is_blurred_until_it_is_sent_and_equals_the_server_s",
        f"{CALCULATOR}::test_a_budget_that_cannot_be_sent_says_so_and_stays_blurred",
    ),
    _row(
        4,
        "on submit the overlay shows 'Enviando...' with the note 'Guardando tu presupuesto y "
        "enviándolo por email...' and inputs and submit are disabled; on success the result is "
        "unblurred with '¡Presupuesto enviado a tu email! Te contactaremos pronto.' and the "
        "contact form is hidden.",
        f"{CALCULATOR}::test_the_result_is_blurred_until_it_is_sent_and_equals_the_server_s",
    ),
    _row(
        4,
        "Selection cascade: choosing a university loads its degrees and clears the chosen degree, "
        "the subject list and the picks. Choosing a degree loads its active subjects and clears "
        "the picks.",
        f"{CALCULATOR}::test_another_degree_clears_the_picks_and_another_university_the_degree",
        f"{STATE}::clears degree and picks when another university is chosen",
        f"{STATE}::clears the picks when another degree is chosen",
    ),
    _row(
        4,
        "Continue is enabled only when the number of picks equals numberOfSubjects.",
        f"{CALCULATOR}::test_the_cascade_asks_for_university_degree_and_subjects_in_turn",
        f"{STATE}::goes on to the result only with every selector filled",
        f"{MESSAGES}::test_a_budget_that_is_none_is_refused_at_its_field",
    ),
    _row(
        4,
        "Friend code: 'Aplicar' with a non-blank code shows '✅ Código aplicado correctamente'; no "
        "server check is shown.",
        f"{CALCULATOR}::test_a_friend_code_that_is_not_blank_is_ticked_at_once",
    ),
    _row(
        4,
        "The friend-code field appears only when wasInvited is true; the visibility rule of the "
        "invitee selector is not shown.",
        f"{CALCULATOR}::test_the_form_has_six_numbers_and_shows_the_friend_s_fields_to_the_invited",
        f"{STATE}::forgets code and invitees when nobody was invited after all",
    ),
    _row(
        4,
        "The date-range discount is applied automatically.",
        f"{MONTHS}::test_banner_quote_and_cart_go_by_the_server_s_month",
        f"{PRICES}::test_the_calculator_starts_from_the_numbers_of_the_server_s_day",
    ),
    _row(
        4,
        "Free-subject modal: on open, inputs are read-only for 500 ms and then editable. The "
        "submit button is disabled until terms are accepted. On submit the modal closes and all "
        "fields reset.",
        f"{FORM}::test_the_free_subject_modal_can_be_typed_into_after_500_ms",
        f"{FORM}::test_the_free_subject_modal_closes_resets_and_sends_its_request",
    ),
    _row(
        4,
        "Missing-subject banner: expanded or collapsed.",
        f"{FORM}::test_the_missing_subject_banner_expands_collapses_and_promises_24_hours",
    ),
    _row(
        5,
        "Free-subject form: email required, email-typed; phone required, telephone-typed; career "
        "required; terms required (submit disabled while unchecked). No lengths or custom "
        "messages.",
        f"{FORM}::test_the_free_subject_modal_closes_resets_and_sends_its_request",
        f"{FORM}::test_the_browser_s_own_checks_keep_the_free_subject_modal_open",
    ),
    _row(
        5,
        "Budget contact: email and phone required ('Por favor, completa todos los campos'); email "
        "must match a simple address pattern ('Por favor, introduce un email válido'); phone at "
        "least 9 characters ('Por favor, introduce un teléfono válido').",
        f"{CALCULATOR}::test_the_contact_is_checked_in_its_order",
        f"{SCHEMA}::asks for both fields before it looks at either",
        f"{SCHEMA}::then refuses what is no address or too short",
    ),
    _row(
        5,
        "Budget: number of subjects 1 to 6 only; invitees 0 to 8; exactly numberOfSubjects "
        "distinct subjects must be chosen; only active subjects are offered; friend code applies "
        "only if non-empty after trimming.",
        f"{CALCULATOR}::test_the_form_has_six_numbers_and_shows_the_friend_s_fields_to_the_invited",
        f"{STATE}::counts a code that is not blank, applied or not, and every invitee",
    ),
    _row(
        5,
        "Contact form, checked in this order: name required ('El nombre es obligatorio'); email "
        "required ('El email es obligatorio'); email pattern ('Por favor, introduce un email "
        "válido'); message required ('El mensaje es obligatorio'); privacy acceptance required "
        "('Debes aceptar la política de privacidad'); phone optional.",
        f"{FORM}::test_the_contact_form_is_checked_in_its_order",
        f"{SCHEMA}::says what is missing in the order of the specification",
    ),
    _row(
        5,
        "Discount request: terms must be accepted ('Debes aceptar los términos y condiciones para "
        "continuar.'); phone, email and career required.",
        f"{FORM}::test_the_discount_request_asks_for_the_terms_first",
        f"{SCHEMA}::asks a discount request for the terms first, then for each field",
    ),
    _row(
        5,
        "Subject request: all six fields required. Messages: 'El nombre es obligatorio', 'El email "
        "es obligatorio', 'Email inválido', 'El teléfono es obligatorio', 'La universidad es "
        "obligatoria', 'La carrera es obligatoria', 'El nombre de asignatura es obligatorio'.",
        f"{FORM}::test_a_missing_subject_s_request_says_each_field_in_its_order",
        f"{SCHEMA}::asks a subject request for all six fields",
    ),
    _row(
        8,
        "Toasts (title 'Error' for failures)",
        f"{CALCULATOR}::test_the_contact_is_checked_in_its_order",
        f"{FORM}::test_the_contact_form_is_checked_in_its_order",
    ),
    _row(
        8,
        "'Por favor, completa todos los campos'; 'Por favor, introduce un email válido'; 'Por "
        "favor, introduce un teléfono válido'.",
        f"{CALCULATOR}::test_the_contact_is_checked_in_its_order",
    ),
    _row(
        8,
        "Budget send failure: the server error, or 'Error al enviar el presupuesto'.",
        f"{CALCULATOR}::test_a_budget_that_cannot_be_sent_says_so_and_stays_blurred",
    ),
    _row(
        8,
        "Contact send failure: the server error or 'Error al enviar el formulario'.",
        f"{FORM}::test_a_message_that_cannot_be_sent_says_so_and_stays",
        f"{FORM}::test_what_the_server_refuses_stands_at_its_field",
    ),
    _row(
        8,
        "Discount failure: 'Hubo un problema al enviar tu solicitud. Por favor, inténtalo de "
        "nuevo.'",
        f"{FORM}::test_a_discount_request_that_fails_says_so",
    ),
    _row(
        8,
        "Subject request failure: 'Error enviando la solicitud. Por favor, inténtalo de nuevo.'",
        f"{FORM}::test_a_missing_subject_s_request_that_fails_says_so",
    ),
    _row(
        8,
        "Loading failures for universities, degrees and subjects are only logged; no message is "
        "shown and the list stays empty.",
        f"{CALCULATOR}::test_a_list_that_fails_stays_empty_and_says_nothing",
    ),
    _row(
        8,
        "Unknown routes and unexpected errors: a generic fallback ('Unexpected Application Error!' "
        "with the message).",
        f"{PAGES}::test_a_server_error_gets_the_page_with_the_words_of_the_specification",
        f"{PRICES}::test_the_page_after_an_error_has_the_site_s_look_and_needs_none",
        f"{PAGES}::test_an_unknown_address_gets_the_404_page",
    ),
    _row(
        8,
        "'¡Perfect! Tu presupuesto ha sido enviado a tu email. Te contactaremos pronto.'",
        f"{CALCULATOR}::test_the_result_is_blurred_until_it_is_sent_and_equals_the_server_s",
    ),
    _row(
        8,
        "'¡Mensaje enviado!'",
        f"{FORM}::test_a_message_is_sent_kept_and_the_form_is_empty_again",
    ),
    _row(
        8,
        "'¡Solicitud enviada!' (discount code sent by e-mail)",
        f"{FORM}::test_the_discount_dialog_offers_the_careers_and_sends_a_personal_code",
    ),
    _row(
        8,
        "'¡Solicitud enviada correctamente! Te contactaremos pronto.'",
        f"{FORM}::test_a_missing_subject_is_asked_for",
    ),
    _row(
        9,
        "Base price when no subjects are chosen: subjects times 240 EUR; otherwise the sum of "
        "final_price",
        f"{PAGES}::test_prices_show_what_1_to_6_subjects_cost",
        f"{STATE}::counts a code that is not blank, applied or not, and every invitee",
    ),
    _row(
        9,
        "Volume discount (fixed): 2 subjects 15 EUR, 3 subjects 45, 4 subjects 70, 5 subjects 90, "
        "6 or more 110",
        f"{PRICES}::test_the_discounts_section_advertises_every_offer",
        f"{PAGES}::test_prices_show_what_1_to_6_subjects_cost",
    ),
    _row(
        9,
        "Full payment discount: 5 percent of base, rounded",
        f"{CALCULATOR}::test_the_result_is_blurred_until_it_is_sent_and_equals_the_server_s",
        "apps/pricing/tests/test_rules.py::test_a_budget_costs_what_was_worked_out",
        f"{LIB}/quote.test.ts::calculator: $name",
    ),
    _row(
        9,
        "Date discount: august 20 percent (until 31 August); september 10 percent; the discounts "
        "section also advertises September 5 percent",
        f"{PRICES}::test_the_discounts_section_advertises_every_offer",
        f"{PRICES}::test_the_calculator_starts_from_the_numbers_of_the_server_s_day",
        f"{MONTHS}::test_banner_quote_and_cart_go_by_the_server_s_month",
    ),
    _row(
        9,
        "Invitation: 15 EUR when invited with a friend code; 20 EUR per invitee, up to 8 (160 EUR)",
        f"{STATE}::counts a code that is not blank, applied or not, and every invitee",
        f"{CALCULATOR}::test_the_result_is_blurred_until_it_is_sent_and_equals_the_server_s",
    ),
    _row(
        9,
        "Final price: never below 0; shown in euros with two decimals",
        f"{CALCULATOR}::test_a_budget_is_never_below_zero_and_has_two_decimals",
        "apps/pricing/tests/test_rules_properties.py::"
        "test_a_budget_is_the_base_less_whole_euros_but_never_below_zero",
        f"{LIB}/money.test.ts::writes $cents cents as the server does",
    ),
    _row(
        9,
        "Phone minimum: 9 characters",
        f"{CALCULATOR}::test_the_contact_is_checked_in_its_order",
        f"{SCHEMA}::then refuses what is no address or too short",
        f"{MESSAGES}::test_nine_characters_are_a_phone",
    ),
    _row(
        9,
        "Free-subject read-only window: 500 ms",
        f"{FORM}::test_the_free_subject_modal_can_be_typed_into_after_500_ms",
    ),
    _row(
        9,
        "Response promise: 24 h",
        f"{FORM}::test_the_missing_subject_banner_expands_collapses_and_promises_24_hours",
    ),
    _row(
        9,
        "Subject count: 1 to 6, default 1",
        f"{CALCULATOR}::test_the_form_has_six_numbers_and_shows_the_friend_s_fields_to_the_invited",
        f"{STATE}::starts with one subject, nothing ticked, nobody invited",
    ),
)

SITE_SENTENCES = HOME + CALCULATOR_AND_FORMS
