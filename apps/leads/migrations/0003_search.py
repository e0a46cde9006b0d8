"""An index of the parts of a person's name, address and phone, which models cannot declare."""

from django.db import migrations

# The expression of `apps.core.staff.admin_search.People` with the columns of the list.
BY_PERSON = """
CREATE INDEX lead_by_person ON leads_lead
USING gin (catalogue_trigrams(lower(name || ' ' || email || ' ' || phone)));
"""


def on_postgresql(statement):
    """A migration function that runs a statement on PostgreSQL and does nothing elsewhere."""

    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [
        ("leads", "0002_acknowledgements_of_orders"),
        ("catalogue", "0002_sorting_and_search_on_postgresql"),
    ]
    operations = [
        migrations.RunPython(
            on_postgresql(BY_PERSON), on_postgresql("DROP INDEX lead_by_person")
        )
    ]
