"""Requests made up from the published schema: the API answers each as the schema says.

`make test` tries a few for each operation, always the same ones; `make fuzz` tries thousands.
"""

import os
from typing import Any

import pytest
import schemathesis
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from schemathesis.checks import CHECKS
from schemathesis.generation import GenerationMode

from apps.core.web.wsgi import Handler
from tests.contract.fuzzed import FUZZED
from tests.helpers.factories import checkout_body, make_subject, whole

CASES = int(os.environ.get("FUZZ_CASES", "10"))
SCHEMA = SchemaGenerator().get_schema(request=None, public=True)
API = schemathesis.openapi.from_dict(SCHEMA)
OPERATIONS = {result.ok().label: result.ok() for result in API.get_all_operations()}
# The operations of a purchase, which the schema links with each other.
LINKED = API.include(path_regex="process-checkout|complete-payment|orders/")
# `refusal_is_explained` takes its place: the schema can't express every rule.
EXCLUDED = [CHECKS.get_one("positive_data_acceptance")]


@pytest.fixture
def shop(kept_connection, sandbox, settings):
    """The shop as a WSGI application, with a Stripe sandbox and without rate limits."""
    settings.RATE_LIMIT_SCALE = 0
    return Handler()


@schemathesis.check
def refusal_is_explained(ctx: Any, response: Any, case: Any) -> None:
    """A valid request that is refused with 400 gets a reason that the schema names.

    Either each field of the answer has a description, or the description of status 400 names the
    answer's code and sentence. A refusal about no field is explained by the operation.
    """
    if response.status_code != 400 or not valid(case):
        return
    answer = response.json()
    documented = case.operation.definition.raw["responses"]["400"]["description"]
    if f"`{answer['code']}`: {answer['error']}" in documented:
        return
    unexplained = [name for name in answer["fields"] if not description(case, name)]
    assert not unexplained, f"The schema does not explain the refusal of {unexplained}: {answer}"
    explained = answer["fields"] or case.operation.definition.raw.get("description")
    assert explained, f"The schema does not explain this refusal: {answer}"


def valid(case: Any) -> bool:
    """Whether the request was made up to be valid by the schema."""
    return bool(case.meta.generation.mode == GenerationMode.POSITIVE)


def description(case: Any, name: str) -> str:
    """The description of a field of the request, such as "items.0.subject_id"; empty without one.

    Falls back to the description of the nearest field around it.
    """
    definition = case.operation.definition.raw
    for parameter in definition.get("parameters", []):
        if parameter["name"] == name:
            return str(parameter.get("description", ""))
    content = definition.get("requestBody", {}).get("content", {})
    schema = next((kind["schema"] for kind in content.values()), {})
    text = ""
    for part in name.split("."):
        schema = resolved(schema)
        if part.isdigit():
            schema = schema.get("items", {})
        else:
            schema = schema.get("properties", {}).get(part, {})
        text = schema.get("description") or text
    return str(text)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    for key in ("allOf", "oneOf", "anyOf"):
        if key in schema:
            schema = {**schema, **schema[key][0]}
    reference = schema.get("$ref", "").rpartition("/")[2]
    return SCHEMA["components"]["schemas"][reference] if reference else schema


# The test client does not decompress answers.
PLAIN = {"Accept-Encoding": "identity"}
RUN: dict[str, Any] = {
    "derandomize": True,
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}


def validate(response: Any, case: Any) -> None:
    """Count the answer, and fail if the schema does not describe it."""
    documented = str(response.status_code) in case.operation.definition.raw["responses"]
    FUZZED.answers[case.operation.label, response.status_code] += 1
    FUZZED.undocumented += not documented
    case.validate_response(
        response, excluded_checks=EXCLUDED, additional_checks=[refusal_is_explained]
    )


@pytest.mark.parametrize("label", OPERATIONS)
def test_api_answers_as_its_schema_says(shop, label):
    operation = OPERATIONS[label]
    operation.app = shop

    @given(case=operation.as_strategy())
    @hypothesis_settings(max_examples=CASES, **RUN)
    def check(case: Any) -> None:
        validate(case.call(headers=PLAIN), case)

    check()


def test_calls_that_follow_the_links_of_the_schema_are_answered_as_it_says(shop):
    subject = make_subject()
    before = FUZZED.answers.copy()

    class Visit(LINKED.as_state_machine()):  # type: ignore[misc]
        def before_call(self, case: Any) -> None:
            if case.operation.label == "POST /api/process-checkout" and valid(case):
                # No generator guesses the price of a subject that exists.
                case.body = checkout_body(whole(subject), total="182.40")

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"app": shop, "headers": PLAIN}

        def validate_response(self, response: Any, case: Any, **options: Any) -> None:
            validate(response, case)

    Visit.run(settings=hypothesis_settings(max_examples=CASES, stateful_step_count=6, **RUN))

    # The links were followed: orders that exist were looked up.
    counted = FUZZED.answers - before
    assert counted["POST /api/process-checkout", 200]
    assert counted["GET /api/orders/recover", 200]
