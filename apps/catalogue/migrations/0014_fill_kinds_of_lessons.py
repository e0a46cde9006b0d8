import unicodedata
from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

KINDS = {"pec": "pec", "pr": "practice", "practica": "practice", "examen": "exam"}


def fill_kinds(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Set the kind of each lesson from the first word of its title.

    A catalogue has many lessons, and few different titles.
    """
    lessons = apps.get_model("catalogue", "Lesson")._base_manager.using(schema_editor.connection.alias)
    titles: dict[str, list[str]] = {}
    for title in lessons.filter(kind="").order_by().values_list("title", flat=True).distinct():
        plain = unicodedata.normalize("NFD", title).encode("ascii", "ignore").decode().lower()
        first, *_ = [*plain.split(), ""]
        titles.setdefault(KINDS.get(first, "other"), []).append(title)
    for kind, named in titles.items():
        for start in range(0, len(named), 500):
            lessons.filter(kind="", title__in=named[start : start + 500]).update(kind=kind)


class Migration(migrations.Migration):
    dependencies = (("catalogue", "0013_add_kinds_videos_and_complete_only"),)

    operations = (migrations.RunPython(fill_kinds, migrations.RunPython.noop),)
