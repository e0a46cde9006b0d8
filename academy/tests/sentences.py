"""Which test would fail without which sentence of the shop's specification, sections 4, 5, 8 and 9.

`test_sentences.py` holds the table against the tests that there are. Sentences are quoted word for
word; of a row in the specification's tables the first and second cell, joined by a colon.
"""

from dataclasses import dataclass

BROWSER = "academy/tests/browser"
CATALOGUE = f"{BROWSER}/test_catalogue.py"
CART = f"{BROWSER}/test_cart.py"
DIALOG = f"{BROWSER}/test_payment_dialog.py"
PROMO = f"{BROWSER}/test_promo_codes.py"
PURCHASE = f"{BROWSER}/test_purchase.py"
RECOVERY = f"{BROWSER}/test_recovery.py"
ARRIVAL = f"{BROWSER}/test_arrival.py"
PREVIEW = f"{BROWSER}/test_site_plan_preview.py"
FORMS = f"{BROWSER}/test_site_forms.py"
PAGES = "apps/pages/tests/test_pages.py"
CHECKOUT = "apps/orders/tests/test_checkout.py"
CODES = "apps/orders/tests/test_promo_codes.py"
COMPLETION = "apps/payments/tests/test_completion.py"
READS = "apps/catalogue/tests/test_reads.py"
RULES = "apps/pricing/tests/test_rules.py"
LEGAL = "apps/core/tests/test_legal_texts.py"
PAYMENT = "static_src/islands/payment"
LIB = "static_src/lib"


@dataclass(frozen=True)
class Row:
    """A sentence and its tests, "path::name". Without tests `instead` says why there are none."""

    section: int
    sentence: str
    tests: tuple[str, ...] = ()
    instead: str = ""


def _row(section: int, sentence: str, *tests: str) -> Row:
    return Row(section, sentence, tests)


STATES = (
    _row(
        4,
        "Order: status 'cart' is the state that the recovery link loads.",
        f"{RECOVERY}::test_the_order_is_shown_whole_beside_the_card_payment",
        f"{RECOVERY}::test_a_paid_order_is_no_longer_found",
    ),
    _row(
        4,
        "Any change of the order status after payment completion: not shown.",
        "apps/orders/tests/test_states.py::test_a_transition_is_kept_with_its_reason_or_impossible",
        "apps/orders/tests/test_states.py::test_every_status_has_its_row_in_the_table",
    ),
    _row(
        4,
        "Payment dialog: registration, then summary when the form is valid; back returns; a "
        "logged-in student starts at summary; closing resets everything.",
        f"{DIALOG}::test_step_2_is_not_reached_while_something_is_missing",
        f"{DIALOG}::test_the_back_arrow_returns_to_step_1_with_what_was_typed",
        f"{PURCHASE}::test_a_signed_in_student_starts_at_step_2_with_their_data_and_no_box_ticked",
        f"{DIALOG}::test_closing_resets_everything_but_the_cart",
    ),
    _row(
        4,
        "Pressing pay requests a payment secret if none exists.",
        f"{DIALOG}::test_the_dialog_waits_for_the_secret_and_then_shows_the_card_form",
        f"{PURCHASE}::test_a_double_click_on_pay_makes_one_order_and_one_payment",
    ),
    _row(
        4,
        "The dialog waits; when the secret arrives, the card form appears.",
        f"{DIALOG}::test_the_dialog_waits_for_the_secret_and_then_shows_the_card_form",
    ),
    _row(
        4,
        "On confirm: an error shows its message; success calls complete-payment and then redirects "
        "to /success with query payment_intent_id.",
        f"{PURCHASE}::test_a_declined_card_says_why_and_another_one_pays",
        f"{PURCHASE}::test_a_double_click_on_pay_makes_one_order_and_one_payment",
    ),
    _row(
        4,
        "If completion fails, the post-payment dialog offers e-mail resend.",
        f"{ARRIVAL}::test_the_verification_mail_can_be_sent_three_times_with_a_wait_between",
    ),
    _row(
        4,
        "On the recovery page, success shows toast '¡Pago exitoso!' with 'Tu matrícula ha sido "
        "procesada correctamente' and navigates to /.",
        f"{RECOVERY}::test_payment_options_are_prepared_and_then_paid",
    ),
    _row(
        4,
        "Payment-provider key: fetched once and cached; on failure it retries after 3 s; a Retry "
        "button clears the cache and reloads the page.",
        f"{DIALOG}::test_the_key_is_fetched_once_for_two_card_forms",
        f"{DIALOG}::test_the_key_is_asked_for_again_after_3_seconds",
        f"{DIALOG}::test_an_answer_without_a_key_says_so_and_retry_loads_the_page_anew",
        f"{LIB}/stripe.test.ts::is fetched again after the cache was cleared",
    ),
    _row(
        4,
        "E-mail resend: at most 3 attempts, then a contact-support message.",
        f"{ARRIVAL}::test_the_verification_mail_can_be_sent_three_times_with_a_wait_between",
        f"{ARRIVAL}::test_the_server_enforces_pause_and_number_of_sends",
    ),
    _row(
        4,
        "After each send a 180 s countdown (shown as m:ss) blocks resending.",
        f"{ARRIVAL}::test_the_verification_mail_can_be_sent_three_times_with_a_wait_between",
        f"{ARRIVAL}::test_the_server_enforces_pause_and_number_of_sends",
        f"{PAYMENT}/countdown.test.ts::shows %i seconds as %s",
    ),
    _row(
        4,
        "Plan preview: the individual plan makes only PEC 1 accessible and preselects it; the full "
        "plan makes all six items accessible and preselects PEC 2.",
        f"{PREVIEW}::test_the_individual_plan_opens_pec_1_alone",
        f"{PREVIEW}::test_the_full_plan_opens_all_six_and_begins_with_pec_2",
    ),
    _row(
        4,
        "Clicking an accessible item toggles selection and clears the chosen content; locked items "
        "(labelled 'Desbloquear') do nothing.",
        f"{PREVIEW}::test_pressing_an_item_toggles_it_and_clears_the_chosen_content",
        f"{PREVIEW}::test_the_individual_plan_opens_pec_1_alone",
    ),
    _row(
        4,
        "Content blocks are 'Bloqueado' unless the plan is full; the theory test shows "
        "'Disponible' on the full plan.",
        f"{PREVIEW}::test_the_individual_plan_shows_the_resolution_and_blocks_the_rest",
        f"{PREVIEW}::test_the_full_plan_opens_all_six_and_begins_with_pec_2",
    ),
    _row(
        4,
        "The EXAMEN item shows only videos and documents.",
        f"{PREVIEW}::test_the_exam_shows_ten_videos_and_documents_only",
    ),
    _row(
        4,
        "The resolution video and resolved PEC document are always unlocked.",
        f"{PREVIEW}::test_the_individual_plan_shows_the_resolution_and_blocks_the_rest",
        "static_src/islands/plan-preview/plan.test.ts::"
        "always opens the resolution and the solved PEC, all else with the full plan alone",
    ),
    _row(
        4,
        "Success page: loading, then success or a configuration-error view.",
        f"{ARRIVAL}::test_success_processes_for_2_seconds_and_then_shows_the_purchase",
        f"{ARRIVAL}::test_an_access_that_failed_is_said_beside_the_payment_that_did_not",
    ),
)

VALIDATION = (
    _row(
        5,
        "Registration: e-mail and phone non-empty; phone at least 9 digits; both acceptances true.",
        f"{DIALOG}::test_step_2_is_not_reached_while_something_is_missing",
        f"{CHECKOUT}::test_each_acceptance_is_needed",
        f"{CHECKOUT}::test_a_phone_of_less_than_nine_digits_is_refused",
    ),
    _row(
        5,
        "The phone input keeps digits only; the country prefix field accepts at most 3 characters.",
        f"{DIALOG}::test_the_prefix_keeps_at_most_three_digits_and_the_phone_digits_only",
        f"{PAYMENT}/contact.test.ts::keep digits only, the prefix three of them at most",
    ),
    _row(
        5,
        "Step 2 is reached only when the form is valid.",
        f"{DIALOG}::test_step_2_is_not_reached_while_something_is_missing",
    ),
    _row(
        5,
        "Promo code: non-empty after trimming; uppercased before sending.",
        f"{PROMO}::test_an_empty_code_cannot_be_sent",
        f"{PROMO}::test_a_code_is_trimmed_and_upper_cased_before_it_is_sent",
        f"{CODES}::test_a_code_that_is_none_gets_a_sentence",
    ),
    _row(
        5,
        "Card form: refuses to submit if the card element is not ready.",
        f"{DIALOG}::test_a_card_form_that_is_not_ready_refuses_to_submit",
    ),
    _row(
        5,
        "Recovery link: must carry both order and token; order must be an integer (otherwise 'ID "
        "de orden inválido').",
        f"{RECOVERY}::test_an_incomplete_link_says_so",
        "apps/orders/tests/test_recovery.py::test_a_link_that_opens_nothing_says_why",
    ),
    _row(
        5,
        "The order must match id, auth token and status cart.",
        f"{RECOVERY}::test_a_wrong_token_opens_nothing",
        "apps/orders/tests/test_recovery.py::test_another_orders_token_opens_nothing",
        f"{COMPLETION}::test_once_paid_the_token_opens_nothing",
    ),
    _row(
        5,
        "Preview contact form: e-mail typed field; attachment types as in section 2.",
        f"{FORMS}::test_the_preview_contact_sends_its_attachment",
        f"{FORMS}::test_an_attachment_of_the_wrong_kind_is_refused_at_its_field",
    ),
    _row(
        5,
        "Server-side enforcement of the 10 MB hint: not shown.",
        "apps/leads/tests/test_attachments.py::test_ten_megabytes_are_taken_and_a_byte_more_is_413",
    ),
    _row(
        5,
        "Where the preview contact form sends its data: not shown.",
        f"{FORMS}::test_the_preview_contact_sends_its_attachment",
    ),
    _row(
        5,
        "Only active lessons count; catalogue subjects without any active lesson are omitted.",
        f"{CATALOGUE}::test_expired_lessons_are_listed_but_cannot_be_ticked",
        f"{READS}::test_only_what_is_on_sale_is_listed",
        f"{LIB}/cart.test.ts::makes the subject complete, ticking its active lessons and no other",
        f"{CHECKOUT}::test_what_is_not_on_sale_is_named_and_refused",
    ),
)

ERRORS = (
    _row(
        8,
        "Recovery link lacks order or token: Enlace de recuperación inválido",
        f"{RECOVERY}::test_an_incomplete_link_says_so",
    ),
    _row(
        8,
        "Order id not an integer: ID de orden inválido",
        f"{RECOVERY}::test_an_incomplete_link_says_so",
    ),
    _row(
        8,
        "Order query error: Orden no encontrada o enlace inválido",
        f"{RECOVERY}::test_a_wrong_token_opens_nothing",
        f"{RECOVERY}::test_a_read_that_fails_says_so",
    ),
    _row(
        8,
        "Order missing: Orden no encontrada",
        f"{RECOVERY}::test_a_paid_order_is_no_longer_found",
    ),
    _row(
        8,
        "Payment intent cannot be prepared (toast): Error / No se pudo preparar el pago. Inténtalo "
        "de nuevo.",
        f"{DIALOG}::test_a_provider_that_is_away_prepares_no_payment_and_the_next_try_pays",
    ),
    _row(
        8,
        "Payment error (toast): Error en el pago with the message",
        f"{PURCHASE}::test_a_declined_card_says_why_and_another_one_pays",
    ),
    _row(
        8,
        "Checkout failure: Error en el pago / No se pudo procesar el pago. Inténtalo de nuevo.",
        f"{DIALOG}::test_a_checkout_without_connection_says_so",
    ),
    _row(
        8,
        "Neither client secret nor url returned: No client secret or redirect URL received.",
        f"{DIALOG}::test_an_answer_with_neither_secret_nor_address_says_so",
    ),
    _row(
        8,
        "Promo validation call fails: No se pudo validar el código. Inténtalo de nuevo.",
        f"{PROMO}::test_a_call_that_fails_says_so",
    ),
    _row(
        8,
        "Promo invalid: Código inválido with the server message, or El código promocional no es "
        "válido",
        f"{PROMO}::test_each_refusal_has_its_own_sentence",
        f"{PROMO}::test_a_refusal_without_a_reason_gets_the_general_sentence",
    ),
    _row(
        8,
        "Promo applied: ¡Código aplicado!",
        f"{PROMO}::test_a_code_is_refused_then_another_applied_and_removed",
    ),
    _row(
        8,
        "Promo removed: Código eliminado",
        f"{PROMO}::test_a_code_is_refused_then_another_applied_and_removed",
    ),
    _row(
        8,
        "Card form not ready: El formulario de pago no está listo...",
        f"{DIALOG}::test_a_card_form_that_is_not_ready_refuses_to_submit",
    ),
    _row(
        8,
        "Card form fails to load: Error al cargar el formulario de pago",
        f"{DIALOG}::test_a_card_form_that_cannot_load_says_so",
    ),
    _row(
        8,
        "Card confirmation fails: Error en el pago",
        f"{PURCHASE}::test_a_declined_card_says_why_and_another_one_pays",
        f"{PURCHASE}::test_a_failed_3d_secure_challenge_charges_nothing_and_another_card_pays",
        f"{DIALOG}::test_an_incomplete_card_is_not_sent",
    ),
    _row(
        8,
        "Payment key fetch fails: Failed to get Stripe public key; No publishable key received "
        "from server; automatic retry after 3 s",
        f"{DIALOG}::test_the_key_is_asked_for_again_after_3_seconds",
        f"{DIALOG}::test_an_answer_without_a_key_says_so_and_retry_loads_the_page_anew",
    ),
    _row(
        8,
        "E-mail resend fails: Error al enviar email / No se pudo reenviar el email",
        f"{ARRIVAL}::test_the_verification_mail_can_be_sent_three_times_with_a_wait_between",
    ),
    Row(
        8,
        "Cart clear fails: No se pudo limpiar el carrito",
        instead="the cart lives in the page's state alone (decisions, 'Cart'): nothing can fail",
    ),
    _row(
        8,
        "Success page, default: Error al procesar la autenticación.",
        f"{ARRIVAL}::test_an_order_that_cannot_be_read_has_its_sentence",
        f"{ARRIVAL}::test_an_access_that_failed_is_said_beside_the_payment_that_did_not",
    ),
    _row(
        8,
        "Success page, message contains Invalid API key: Error de configuración: Clave de API "
        "inválida. Contacta al administrador.",
        "static_src/islands/success/follow.test.ts::that says «%s» is «%s»",
    ),
    _row(
        8,
        "Success page, message contains 401: Error de autenticación. Verifica tu sesión.",
        f"{ARRIVAL}::test_an_order_that_cannot_be_read_has_its_sentence",
    ),
    _row(
        8,
        "Success page, message contains 404: Orden no encontrada. Verifica el enlace de pago.",
        f"{ARRIVAL}::test_an_unknown_payment_is_an_order_not_found",
    ),
    _row(
        8,
        "Success page, message contains Network: Error de conexión. Verifica tu conexión a "
        "internet.",
        f"{ARRIVAL}::test_an_order_that_cannot_be_read_has_its_sentence",
    ),
    _row(
        8,
        "Unknown route: Oops! Page not found",
        f"{ARRIVAL}::test_an_unknown_address_is_a_404_page_with_a_way_home",
        "apps/pages/tests/test_pages.py::test_an_unknown_address_gets_the_404_page",
    ),
    _row(
        8,
        "Recovery-page errors appear in an error card with 'Volver al inicio'.",
        f"{RECOVERY}::test_an_incomplete_link_says_so",
    ),
)

CONSTANTS = (
    _row(
        9,
        "Catalogue page size: 9 by default (options 6, 9, 12, 18, all)",
        f"{CATALOGUE}::test_the_page_sizes_are_those_of_the_specification",
        f"{CATALOGUE}::test_the_page_size_can_be_chosen",
        f"{CATALOGUE}::test_all_loads_page_after_page_while_one_scrolls",
    ),
    _row(
        9,
        "6 skeleton cards while loading",
        f"{CATALOGUE}::test_six_skeletons_stand_in_while_subjects_load",
    ),
    _row(
        9,
        "search debounce 300 ms",
        f"{CATALOGUE}::test_the_search_waits_for_a_pause_of_300_ms",
        f"{LIB}/debounce.test.ts::waits for 300 ms of silence and then tells the last word only",
    ),
    _row(
        9,
        "subject list cached 1 minute",
        f"{CATALOGUE}::test_what_was_read_is_kept_for_a_minute_and_then_read_again",
        f"{LIB}/resource.test.ts::remembers an answer for one minute, by its key",
    ),
    _row(
        9,
        "sort by name with Spanish collation.",
        f"{READS}::test_most_enrolled_come_first_then_names_in_spanish_order",
    ),
    _row(
        9,
        "Cart pricing: an automatic August discount of 20 percent, computed on a list price of "
        "price divided by 0.8",
        f"{RULES}::test_a_cart_costs_what_was_worked_out",
        f"{LIB}/quote.test.ts::cart: $name",
        "apps/pricing/tests/test_campaigns.py::test_a_campaign_returns_every_year_between_its_days",
        f"{BROWSER}/test_site_months.py::test_banner_quote_and_cart_go_by_the_server_s_month",
    ),
    _row(
        9,
        "volume discount in fixed euros by number of subjects: 2 → 15, 3 → 45, 4 → 70, 5 → 90, 6 "
        "or more → 110",
        f"{RULES}::test_a_cart_costs_what_was_worked_out",
        "academy/tests/test_contract.py::test_pricing_has_the_numbers_of_the_specification",
        f"{CART}::test_the_panel_shows_every_discount_and_the_total",
    ),
    _row(
        9,
        "5 percent for full_payment",
        f"{RULES}::test_a_cart_costs_what_was_worked_out",
        f"{CART}::test_the_panel_shows_every_discount_and_the_total",
        f"{PURCHASE}::test_the_first_of_three_instalments",
    ),
    _row(
        9,
        "the promo discount is subtracted.",
        f"{PURCHASE}::"
        "test_two_subjects_and_a_lesson_with_a_code_from_the_home_page_to_the_classroom",
    ),
    _row(
        9,
        "Final price never below 0.",
        "apps/pricing/tests/test_rules_properties.py::"
        "test_a_total_is_never_below_zero_nor_above_the_prices",
        f"{PURCHASE}::test_a_total_of_zero_needs_no_card",
    ),
    _row(
        9,
        "Instalments: 3 payments every 20 days, no interest (total divided by 3).",
        f"{PURCHASE}::test_the_first_of_three_instalments",
        f"{RULES}::test_instalments_put_the_remainder_on_the_first",
        f"{COMPLETION}::test_the_first_instalment_makes_the_plan_and_the_order_paying",
    ),
    _row(
        9,
        "Promo codes are uppercased.",
        f"{PROMO}::test_a_code_is_trimmed_and_upper_cased_before_it_is_sent",
        "apps/backoffice/tests/test_admin.py::test_a_code_is_stored_upper_case",
    ),
    _row(
        9,
        "Referral reward text: 25 or 20 EUR per invited friend who buys at least one subject.",
        "apps/pages/tests/test_calculator.py::test_the_discounts_section_advertises_every_offer",
    ),
    _row(
        9,
        "Phone minimum 9 digits; prefix at most 3 characters.",
        f"{DIALOG}::test_step_2_is_not_reached_while_something_is_missing",
        f"{DIALOG}::test_the_prefix_keeps_at_most_three_digits_and_the_phone_digits_only",
        f"{PAYMENT}/contact.test.ts::refuses eight digits and takes nine, not counting the prefix",
    ),
    _row(
        9,
        "E-mail resend: at most 3 attempts; cooldown 180 s.",
        f"{ARRIVAL}::test_the_server_enforces_pause_and_number_of_sends",
        f"{COMPLETION}::test_the_mail_can_be_sent_again_three_times_and_every_three_minutes",
    ),
    _row(
        9,
        "Payment-key retry: 3 s.",
        f"{DIALOG}::test_the_key_is_asked_for_again_after_3_seconds",
        f"{LIB}/stripe.test.ts::tries again 3 s after each failure, until it is ready",
    ),
    _row(
        9,
        "Success page: artificial delay 2 s",
        f"{ARRIVAL}::test_success_processes_for_2_seconds_and_then_shows_the_purchase",
        "static_src/islands/success/follow.test.ts::"
        "shows nothing for 2 s, and tells the server of the payment meanwhile",
    ),
    _row(
        9,
        "order reference is ORD- followed by the last 8 characters of the session or payment id",
        f"{ARRIVAL}::test_success_processes_for_2_seconds_and_then_shows_the_purchase",
    ),
    _row(
        9,
        "the amount and item count shown there are fixed placeholders, and the real amount and "
        "item count: not shown.",
        # Issue 2, section 7: the real ones.
        f"{PURCHASE}::"
        "test_two_subjects_and_a_lesson_with_a_code_from_the_home_page_to_the_classroom",
        f"{PURCHASE}::test_the_first_of_three_instalments",
    ),
    _row(
        9,
        "Plan preview: the individual plan gives access to 1 of 6 items; 5 PECs plus an exam; 8 "
        "theory videos per PEC and 10 for the exam; theory test of 50 questions in the preview and "
        "60 in the description; PEC video 35 minutes in the preview and 45 in the description.",
        f"{PREVIEW}::test_the_individual_plan_opens_pec_1_alone",
        "apps/pages/tests/test_calculator.py::"
        "test_the_preview_has_five_pecs_and_an_exam_with_their_counts",
        f"{PAGES}::test_the_content_of_a_subject_has_the_numbers_of_the_specification",
    ),
    _row(
        9,
        "Mobile breakpoint: under 768 px.",
        f"{DIALOG}::test_the_dialog_changes_its_shape_below_768_pixels",
    ),
    _row(
        9,
        "Discounts on subject cards are rounded to whole euros; cart amounts show 2 decimals.",
        f"{CATALOGUE}::test_a_discounted_subject_shows_list_price_and_whole_euros_off",
        f"{RULES}::test_a_card_shows_the_list_price_and_the_discount_in_whole_euros",
        f"{CART}::test_the_panel_shows_every_discount_and_the_total",
    ),
    _row(
        9,
        "Legal: minimum age 18; at most 2 devices; instalments in 3 with no interest; no refunds; "
        "data kept up to 5 years; jurisdiction Madrid; legal texts dated 10 July 2025.",
        f"{LEGAL}::test_the_terms_say",
        f"{LEGAL}::test_the_four_texts_are_there_in_version_1_of_10_july_2025",
        f"{DIALOG}::test_pay_is_disabled_until_both_boxes_are_ticked",
    ),
)

SENTENCES = (*STATES, *VALIDATION, *ERRORS, *CONSTANTS)
