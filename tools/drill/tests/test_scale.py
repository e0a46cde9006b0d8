"""The simulation of more purchases a minute."""

from dataclasses import replace

import pytest

from tools.drill.scale import (
    BUSY,
    LONGEST_WAIT_S,
    VIEWS,
    Costs,
    cores_for,
    first_false,
    needs,
    simulated_wait,
    workers_for,
)

COSTS = Costs(
    queries=200,
    cpu_s=0.2,
    web_cpu_s=0.1,
    view_cpu_s=0.01,
    view_queries=5,
    calls=3,
    tasks={"mail": 3, "access": 1},
    task_s={"mail": 0.2, "access": 0.05},
)


def test_a_queue_that_is_hardly_used_makes_nobody_wait():
    assert simulated_wait(tasks_a_second=0.1, task_s=0.1, workers=1) == 0


def test_a_queue_with_more_work_than_its_worker_can_do_makes_wait_for_minutes():
    assert simulated_wait(tasks_a_second=10, task_s=0.2, workers=1) > 60


@pytest.mark.parametrize("rate", [10, 100, 1_000])
def test_workers_are_enough_and_one_fewer_is_not(rate):
    number = workers_for(COSTS, "mail", rate)
    a_second = rate / 60 * COSTS.tasks["mail"]

    assert simulated_wait(a_second, COSTS.task_s["mail"], number) <= LONGEST_WAIT_S
    if number > 1:
        assert simulated_wait(a_second, COSTS.task_s["mail"], number - 1) > LONGEST_WAIT_S


def test_cores_count_the_purchase_and_its_page_views():
    assert cores_for(COSTS, 60) == pytest.approx((0.2 + VIEWS * 0.01) / BUSY)


def test_the_busiest_queue_is_the_sentence_that_becomes_false_first():
    # 3 mails of 0.2 s: one worker sends those of 100 purchases a minute.
    assert first_false(COSTS).startswith("«un trabajador de la cola mail basta», a 100 por minuto")


def test_slow_pages_make_the_cores_come_first():
    slow = replace(COSTS, view_cpu_s=0.1)

    assert first_false(slow).startswith("«dos núcleos bastan», a 33 por minuto")


def test_table_has_a_row_for_each_rate():
    rows = needs(COSTS)

    assert rows[2].startswith("| 10 | 50 | 0.1 | 0.5 |")
    assert rows[4].startswith("| 1,000 | 5,000 |")
