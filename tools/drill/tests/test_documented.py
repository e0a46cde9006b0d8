"""The drills of the operations guide are those of `make drill`."""

import re

from tools.dev.processes import ROOT
from tools.drill.drill import DRILLS


def test_operations_guide_lists_every_drill_once():
    guide = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = guide.partition("\n## Drills\n")[2].partition("\n## ")[0]

    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)

    assert sorted(listed) == sorted(drill.__name__ for drill in DRILLS)
