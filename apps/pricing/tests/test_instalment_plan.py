import pytest

from apps.pricing.checks import check_instalment_plan


def test_settings_of_three_instalments_every_twenty_days_pass_the_check():
    assert check_instalment_plan() == []


@pytest.mark.parametrize(
    ("count", "every_days", "ids"),
    [
        (2, 1, []),
        (12, 90, []),
        (1, 20, ["pricing.E001"]),
        (13, 20, ["pricing.E001"]),
        (3, 0, ["pricing.E002"]),
        (3, 91, ["pricing.E002"]),
        (0, 0, ["pricing.E001", "pricing.E002"]),
    ],
)
def test_settings_outside_the_allowed_plans_stop_the_start(settings, count, every_days, ids):
    settings.INSTALMENT_COUNT, settings.INSTALMENT_EVERY_DAYS = count, every_days

    assert [problem.id for problem in check_instalment_plan()] == ids
