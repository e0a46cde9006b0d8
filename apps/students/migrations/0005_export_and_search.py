"""An index of the parts of a person's name, address and phone, which models cannot declare."""

from django.db import migrations

# The expression of `apps.core.staff.admin_search.People` with the columns of the list.
BY_PERSON = """
CREATE INDEX student_by_person ON students_student
USING gin (catalogue_trigrams(lower(email || ' ' || phone || ' ' || first_name || ' ' || last_name)));
"""


def on_postgresql(statement):
    """A migration function that runs a statement on PostgreSQL and does nothing elsewhere."""

    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [
        ("students", "0004_say_that_an_address_is_taken"),
        ("catalogue", "0002_sorting_and_search_on_postgresql"),
    ]
    operations = [
        migrations.AlterModelOptions(
            name='student',
            options={'ordering': ('-created_at',), 'permissions': (('block_student', 'Puede bloquear a un alumno'), ('merge_student', 'Puede unir dos alumnos'), ('export_student', 'Puede exportar alumnos')), 'verbose_name': 'alumno', 'verbose_name_plural': 'alumnos'},
        ),
        migrations.RunPython(
            on_postgresql(BY_PERSON), on_postgresql("DROP INDEX student_by_person")
        )
    ]
