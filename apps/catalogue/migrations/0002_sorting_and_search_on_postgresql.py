"""Bytewise sorting of names and the search index on PostgreSQL, which models cannot declare."""

from django.db import migrations

TABLES = ("catalogue_university", "catalogue_degree", "catalogue_subject")

# Immutable, so that an index can be made of it; nothing but built-in functions, so that it works
# wherever a dump is restored.
TRIGRAMS = """
CREATE FUNCTION catalogue_trigrams(name text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ARRAY(SELECT DISTINCT substr(name, place, 3) FROM generate_series(1, length(name) - 2) place);
"""
BY_TRIGRAM = """
CREATE INDEX subject_by_trigram ON catalogue_subject
USING gin (catalogue_trigrams(name_search));
"""


def collate(collation):
    """Statements that sort names by this collation.

    SQLite compares bytewise by itself. PostgreSQL compares by the language that its cluster was
    made with, which may skip spaces; `name_sort` holds the Spanish order in its bytes.
    """
    return [
        f'ALTER TABLE {table} ALTER COLUMN name_sort TYPE varchar(200) COLLATE "{collation}"'
        for table in TABLES
    ]


def on_postgresql(*statements):
    """A migration function that runs these statements on PostgreSQL and does nothing elsewhere."""

    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            for statement in statements:
                schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [("catalogue", "0001_initial")]
    operations = [
        migrations.RunPython(
            on_postgresql(*collate("C"), TRIGRAMS, BY_TRIGRAM),
            on_postgresql(
                "DROP INDEX subject_by_trigram",
                "DROP FUNCTION catalogue_trigrams(text)",
                *collate("default"),
            ),
        )
    ]
