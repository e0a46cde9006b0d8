from tools.dev.bench_table import Row, store, table

FAST = Row("purchases", 4000, "/s", 25, "0.3 ms", at_least=True)
SLOW = Row("rendered", 9, "ms", 6)


def test_table_names_the_rows_that_miss_their_limit(tmp_path):
    store([FAST, SLOW], tmp_path / "bench.md")

    stored = (tmp_path / "bench.md").read_text(encoding="utf-8")
    assert "processors" in stored.splitlines()[0]
    assert stored.endswith(table([FAST, SLOW]) + "\n")
    assert stored.splitlines()[4:] == [
        "| purchases | 4,000 /s | ≥ 25 | 0.3 ms |",
        "| rendered | 9 ms | ≤ 6 | **missed** |",
    ]
