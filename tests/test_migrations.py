"""Migrations with which the code of the previous release still works.

See docs/decisions/0042-schema-changes-in-two-releases.md.
"""

import re
from collections.abc import Iterator
from importlib import import_module

import pytest
from django.core.management import call_command
from django.db import models
from django.db.migrations import Migration, operations
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from apps.classroom.models import Semester
from tools.dev.processes import ROOT

REMOVALS = (
    operations.RemoveField,
    operations.DeleteModel,
    operations.RenameField,
    operations.RenameModel,
    operations.AlterModelTable,
)


def problems(migration: Migration, before: ProjectState, releases: list[str]) -> Iterator[str]:
    """What the previous release's code would fail on after this migration, one line each.

    `before` is the state of the models before the migration. `releases` are the releases so far.
    """
    state, new_tables = before.clone(), set()
    for operation in _all(migration.operations):
        label = f"{migration.app_label}.{migration.name}: {operation.describe()}"
        if isinstance(operation, operations.CreateModel):
            new_tables.add(operation.name.lower())
        elif isinstance(operation, operations.AddField):
            if operation.model_name_lower not in new_tables and _must_be_written(operation.field):
                yield f"{label}: give the column a db_default"
        elif isinstance(operation, operations.AlterField):
            model = state.models[migration.app_label, operation.model_name_lower]
            was_nullable = model.fields[operation.name].null
            if was_nullable and _must_be_written(operation.field):
                yield f"{label}: old code writes NULL; give the column a db_default"
        elif isinstance(operation, REMOVALS):
            unused_since = getattr(import_module(migration.__module__), "UNUSED_SINCE", "")
            if unused_since not in (releases or ["unreleased"]):
                yield f"{label}: name the release that stopped using it in UNUSED_SINCE"
        operation.state_forwards(migration.app_label, state)


def _all(some: list) -> Iterator:
    for operation in some:
        if isinstance(operation, operations.SeparateDatabaseAndState):
            yield from _all(operation.database_operations)
        else:
            yield operation


def _must_be_written(field: models.Field) -> bool:
    """Whether an INSERT without the column fails."""
    has_value = field.null or field.has_db_default() or field.generated
    return not has_value and not field.many_to_many and not field.primary_key


def releases() -> list[str]:
    """The versions in the changelog, the newest first."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.findall(r"^## \[?(\d+\.\d+\.\d+)", changelog, re.MULTILINE)


def test_code_of_the_previous_release_works_on_the_schema_of_each_migration():
    loader = MigrationLoader(None)
    state, found = ProjectState(), []
    for node in loader.graph._generate_plan(loader.graph.leaf_nodes(), at_end=True):
        migration = loader.graph.nodes[node]
        if migration.__module__.startswith("apps.") and not migration.name.startswith("0001"):
            found += problems(migration, state, releases())
        state = migration.mutate_state(state, preserve=False)

    assert found == []


def make(*some) -> Migration:
    migration = Migration("0002_change", "shop")
    migration.operations = list(some)
    return migration


def test_columns_without_a_default_and_unannounced_removals_are_found():
    before = ProjectState()
    id_ = models.BigAutoField(primary_key=True)
    order = [("id", id_), ("note", models.TextField(null=True)), ("old", models.TextField())]
    operations.CreateModel("Order", order).state_forwards("shop", before)

    found = problems(
        make(
            operations.AddField("order", "plain", models.IntegerField(default=1)),
            operations.AddField("order", "null", models.IntegerField(null=True)),
            operations.AddField("order", "good", models.IntegerField(default=1, db_default=1)),
            operations.AlterField("order", "note", models.TextField(default="")),
            operations.RemoveField("order", "old"),
            operations.CreateModel("Line", [("id", id_)]),
            operations.AddField("line", "order", models.ForeignKey("shop.Order", models.CASCADE)),
        ),
        before,
        ["1.0.0"],
    )

    assert [line.split(": ", 1)[1].split(": ")[0] for line in found] == [
        "Add field plain to order",
        "Alter field note on order",
        "Remove field old from order",
    ]


@pytest.mark.django_db(transaction=True)
def test_tests_after_an_emptied_database_find_the_rows_of_migrations():
    call_command("flush", interactive=False, verbosity=0)
    assert Semester.objects.count() == 2
