"""The documentation is true: what it names exists, and it stands alone."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands

from apps.core.jobs import all_jobs
from tools.dev.processes import ROOT

FOLDERS = (".ci", ".github", "academy", "apps", "docs", "static_src", "templates", "tests", "tools")
WRITTEN_BY_HAND = {
    "", ".css", ".html", ".in", ".js", ".md", ".mjs", ".py", ".sh", ".toml", ".ts", ".tsx", ".txt",
    ".yaml", ".yml",
}  # fmt: skip

# Documents that are not in the repository.
OUTSIDE = re.compile(
    r"""(?<!/)\bdecisions\.md|\bdecisions,\s"|\bapi\.md|\bdesign-card|\bshared/(?:design|spec)"""
    r"""|\b[Ii]ssue\s\d|\b[Ss]pecs?\b(?!\.)|\b[Ss]pecifications?\b"""
)


def files() -> list[Path]:
    """What people write: sources, tests, templates and documents, as paths in the repository."""
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    top = [path for path in ROOT.iterdir() if path.suffix in {".md", ".toml"}]
    top += [ROOT / name for name in ("Makefile", "Procfile", ".env.example")]
    return sorted(
        path
        for path in {*inside, *top}
        if path.is_file() and path.suffix in WRITTEN_BY_HAND and "__pycache__" not in path.parts
    )


def documents() -> list[Path]:
    return [path for path in files() if path.suffix == ".md"]


def headings(path: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return set(re.findall(r"^#+ (.+?)\s*$", text, re.MULTILINE))


def rules() -> list[Path]:
    return sorted((ROOT / "docs/rules").glob("*.md"))


def sections(document: str) -> set[str]:
    """What a citation may name: docs/rules.md stands for the files that it leads to."""
    paths = rules() if document == "docs/rules.md" else [ROOT / document]
    return {heading for path in paths for heading in headings(path)}


def running_text(path: Path) -> str:
    """The file with comment signs and line breaks taken out: a citation may go on in a new line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return " ".join(re.sub(r"^\s*(?:#+|//|/?\*+)?\s*", "", line) for line in lines)


def slug(heading: str) -> str:
    """A heading as the anchor that GitHub makes of it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def in_backticks(path: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def citations(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Every `docs/….md` that a file cites, with the headings that follow it in quotes."""
    found = re.finditer(
        r"""\b(docs/[\w/.-]+\.md)((?:,?\s(?:and\s|or\s)?"[^"]+")*)""", running_text(path)
    )
    for match in found:
        yield match[1], re.findall(r'"([^"]+)"', match[2])


def test_cited_documents_and_headings_exist():
    wrong = []
    for path in files():
        for document, cited in citations(path):
            if not (ROOT / document).is_file():
                wrong.append(f"{name_of(path)}: {document}")
                continue
            unknown = set(cited) - sections(document)
            wrong += [f'{name_of(path)}: {document}, "{heading}"' for heading in sorted(unknown)]

    assert not wrong, "\n".join(wrong)


def test_sections_that_the_rules_refer_to_exist():
    cited = {name for path in rules() for name in re.findall(r'\bsee "(.+?)"', running_text(path))}

    assert cited
    assert cited <= sections("docs/rules.md")


def test_rules_lead_to_each_of_their_sections_once():
    index = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    stated = [
        (heading, f"rules/{path.name}#{slug(heading)}")
        for path in rules()
        for heading in re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert stated
    assert sorted(re.findall(r"\[([^\]]+)\]\((rules/[^)]+#[^)]+)\)", index)) == sorted(stated)
    assert len({heading for heading, _ in stated}) == len(stated)


def test_paths_named_in_the_documents_exist():
    wrong = [
        f"{name_of(path)}: {named}"
        for path in documents()
        for named in in_backticks(path)
        if re.fullmatch(rf"(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*", named)
        and not any(ROOT.glob(named.rstrip("/")))
    ]

    assert not wrong, "\n".join(wrong)


def test_names_in_brackets_after_a_path_are_in_that_file():
    """As in: `apps/orders/plan/notices.py` (`send_notice`)."""
    wrong = []
    for path in documents():
        for named, words in re.findall(
            r"`([\w./-]+\.\w+)`\s\(((?:`\w+`(?:,\s)?)+)\)", path.read_text(encoding="utf-8")
        ):
            source = (ROOT / named).read_text(encoding="utf-8")
            missing = [word for word in re.findall(r"\w+", words) if word not in source]
            wrong += [f"{name_of(path)}: {named} ({word})" for word in missing]

    assert not wrong, "\n".join(wrong)


def test_commands_named_in_the_documents_exist():
    commands = get_commands()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([\w-]+(?: [\w-]+)*):", makefile, re.MULTILINE)
    known = {target for line in targets for target in line.split()}
    wrong = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        named = re.findall(r"manage\.py ([a-z_]+)", text)
        wrong += [f"{name_of(path)}: manage.py {name}" for name in named if name not in commands]
        made = re.findall(r"(?:`|^)(?:[A-Z_]+=\S+ )*make ([a-z-]+)", text, re.MULTILINE)
        wrong += [f"{name_of(path)}: make {name}" for name in made if name not in known]

    assert not wrong, "\n".join(wrong)


def test_operations_list_every_scheduled_job():
    text = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)` \| (?:every|hourly|\d\d:\d\d)", text, re.MULTILINE))

    assert listed == set(all_jobs())


def test_links_between_documents_lead_somewhere():
    wrong = []
    for path in documents():
        for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            there = (path.parent / target).resolve() if target else path
            if not there.exists() or (
                anchor and anchor not in {slug(heading) for heading in headings(there)}
            ):
                wrong.append(f"{name_of(path)}: {link}")

    assert not wrong, "\n".join(wrong)


def test_nothing_cites_documents_outside_the_repository():
    cited = [
        f"{name_of(path)}: {match[0]}"
        for path in files()
        if path != Path(__file__)
        for match in OUTSIDE.finditer(running_text(path))
    ]

    assert not cited, "\n".join(cited)


def test_every_decision_is_listed_and_has_its_three_parts():
    folder = ROOT / "docs/decisions"
    records = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", (folder / "README.md").read_text("utf-8"), re.M)

    assert [name for _, name in listed] == [path.name for path in records]
    for number, (path, (title, _)) in enumerate(zip(records, listed, strict=True), start=1):
        text = path.read_text(encoding="utf-8")
        assert path.name.startswith(f"{number:04}-"), path.name
        assert text.startswith(f"# {title}\n"), path.name
        assert title.startswith(f"{number}. "), path.name
        parts = re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE)
        assert parts == ["Context", "Decision", "Consequence"], path.name


def test_every_package_has_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    front_end = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    packages = {re.split(r"[\[<>=;~! ]", line)[0] for line in asked}
    packages |= {*front_end["dependencies"], *front_end["devDependencies"]}
    table = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \|", table, re.MULTILINE)
    explained = {name for row in rows for name in row.split(", ")} - {"package", "---"}

    assert explained == packages


def test_map_lists_every_signal_and_every_module_that_receives_one():
    listed = in_backticks(ROOT / "docs/map.md")
    missing = []
    for path in (ROOT / "apps").rglob("*.py"):
        if "tests" in path.parts or path.name == "apps.py":
            continue
        source = path.read_text(encoding="utf-8")
        missing += [
            name for name in re.findall(r"^(\w+) = Signal\(", source, re.M) if name not in listed
        ]
        if re.search(r"^@receiver\(|\b(?:pre|post)_\w+\.connect\(", source, re.M):
            missing += {name_of(path)} - {*listed}

    assert not missing, missing


def test_map_lists_every_registry_that_an_app_fills():
    """The functions of another app that `ready()` of an app calls."""
    listed = in_backticks(ROOT / "docs/map.md")
    filled = set()
    for path in (ROOT / "apps").glob("*/apps.py"):
        source = path.read_text(encoding="utf-8")
        of_others = rf"from apps\.(?!{path.parent.name}\.)\S+ import (\w+(?:, \w+)*|\([^)]+\))"
        names = re.findall(r"\b[a-z]\w+", " ".join(re.findall(of_others, source)))
        filled |= {name for name in names if re.search(rf"^ +{name}\(", source, re.M)}

    assert filled
    assert not filled - {*listed}


@pytest.mark.parametrize(
    "text",
    [
        "the orders (decisions.md, 'Orders')",
        "as api.md has it",
        '(decisions, "Cart"; shop spec, section 9)',
        "the specification's sentence",
        "what issue 4 asks for",
        "shared/spec/2-shop.md",
    ],
)
def test_citations_of_outside_documents_are_recognised(text):
    assert OUTSIDE.search(text)


@pytest.mark.parametrize(
    "text",
    [
        'see docs/rules.md, "Orders and their states"',
        "docs/decisions/README.md",
        "importlib.util.find_spec and drf_spectacular",
        "RFC 5321, section 4.2.3",
        "https://github.com/stripe/stripe-python/issues/7",
    ],
)
def test_citations_of_rules_and_standards_are_allowed(text):
    assert not OUTSIDE.search(text)
