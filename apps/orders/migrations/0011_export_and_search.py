"""An index of the parts of a person's name, address and phone, which models cannot declare."""

from django.db import migrations

# The expression of `apps.core.staff.admin_search.People` with the columns of the list.
BY_PERSON = """
CREATE INDEX order_by_person ON orders_order
USING gin (catalogue_trigrams(lower(email || ' ' || phone || ' ' || first_name || ' ' || last_name)));
"""


def on_postgresql(statement):
    """A migration function that runs a statement on PostgreSQL and does nothing elsewhere."""

    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [("orders", "0010_exchanges"), ("catalogue", "0002_sorting_and_search_on_postgresql")]
    operations = [
        migrations.AlterModelOptions(
            name='order',
            options={'ordering': ('-created_at',), 'permissions': (('refund_order', 'Puede devolver pagos'), ('read_takings', 'Puede ver la recaudación'), ('resend_order_mail', 'Puede reenviar los correos de un pedido'), ('export_order', 'Puede exportar pedidos y líneas')), 'verbose_name': 'pedido', 'verbose_name_plural': 'pedidos'},
        ),
        migrations.RunPython(
            on_postgresql(BY_PERSON), on_postgresql("DROP INDEX order_by_person")
        )
    ]
