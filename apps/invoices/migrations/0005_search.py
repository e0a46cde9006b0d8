"""An index of the parts of a recipient's name, which models cannot declare."""

from django.db import migrations

# The expression of `apps.core.staff.admin_search.People` with the name that the list searches.
BY_RECIPIENT = """
CREATE INDEX invoice_by_recipient ON invoices_invoice
USING gin (catalogue_trigrams(lower(recipient ->> 'name')));
"""


def on_postgresql(statement):
    """A migration function that runs a statement on PostgreSQL and does nothing elsewhere."""

    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [
        ("invoices", "0004_spanish_names_of_bookkeeping"),
        ("catalogue", "0002_sorting_and_search_on_postgresql"),
    ]
    operations = [
        migrations.RunPython(
            on_postgresql(BY_RECIPIENT), on_postgresql("DROP INDEX invoice_by_recipient")
        )
    ]
