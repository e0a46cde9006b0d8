import json

from tools.dev.bench_table import Row, store, table

PAGE = Row("`/`", 4000, "/s", 5000, "bare view", 0.7, note="0.3 ms")
SLOW = Row("rendered", 9, "ms", 6, "goal", 1, more_is_better=False)


def test_table_names_the_rows_that_miss_their_goal():
    lines = table([PAGE, SLOW]).splitlines()

    assert lines[2:] == [
        "| `/` | 4,000 /s | 5,000 /s (bare view) | 0.80 | ≥ 0.7 | 0.3 ms |",
        "| rendered | 9 ms | 6 ms (goal) | 1.50 | ≤ 1 | **missed** |",
    ]


def test_rows_are_stored_with_their_machine(tmp_path):
    store([PAGE, SLOW], tmp_path)

    stored = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert stored["machine"]["processors"] >= 1
    assert [row["is_met"] for row in stored["rows"]] == [True, False]
    assert (tmp_path / "bench.md").read_text(encoding="utf-8") == table([PAGE, SLOW]) + "\n"
