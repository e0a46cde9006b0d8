"""Rewrite the first answer of the questions for placeholders that name the universities.

`coming_universities` is a whole sentence now. An answer that staff have changed stays theirs.
"""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

BEFORE = (
    "Ahora mismo damos apoyo a los estudiantes de {{ open_universities }}, a elegir en el "
    "catálogo. Estamos preparando {{ coming_universities }} más, que "
    "verás anunciadas como «próximamente»."
)
AFTER = (
    "Ahora mismo damos apoyo a los estudiantes de {{ open_universities }}. "
    "{{ coming_universities }}"
)


def rewrite(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    answers = apps.get_model("pages", "Faq").objects.using(schema_editor.connection.alias)
    answers.filter(answer=BEFORE).update(answer=AFTER)


class Migration(migrations.Migration):
    dependencies = [("pages", "0001_initial")]

    operations = [migrations.RunPython(rewrite, migrations.RunPython.noop)]
