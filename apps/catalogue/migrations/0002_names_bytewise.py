from django.db import migrations

TABLES = ("catalogue_university", "catalogue_degree", "catalogue_subject")


def _collate(schema_editor, collation):
    # SQLite compares bytewise by itself. PostgreSQL compares by the language its cluster was made
    # with, which may skip spaces; `name_sort` holds the Spanish order in its bytes.
    if schema_editor.connection.vendor == "postgresql":
        for table in TABLES:
            schema_editor.execute(
                f'ALTER TABLE {table} ALTER COLUMN name_sort TYPE varchar(200) COLLATE "{collation}"'
            )


def bytewise(apps, schema_editor):
    _collate(schema_editor, "C")


def by_language(apps, schema_editor):
    _collate(schema_editor, "default")


class Migration(migrations.Migration):
    dependencies = [("catalogue", "0001_initial")]
    operations = [migrations.RunPython(bytewise, by_language)]
