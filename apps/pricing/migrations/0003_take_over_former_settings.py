from django.conf import settings
from django.db import migrations

# Former setting and the column of the terms of sale.
COLUMNS = {
    "INSTALMENT_COUNT": "instalment_count",
    "INSTALMENT_EVERY_DAYS": "instalment_every_days",
    "CART_REMINDER_HOURS": "reminder_hours",
}


def take_over_former_settings(apps, schema_editor):
    """Write the terms of a shop whose settings had other values than a new shop's terms."""
    model = apps.get_model("pricing", "Terms")
    terms = model(changed_by="migración")
    changed = False
    for name, column in COLUMNS.items():
        typed = settings.FORMER_SETTINGS.get(name)
        if typed is None:
            continue
        if column == "reminder_hours":
            hours = sorted({int(part) for part in typed.split(",") if part.strip()})
            value = ", ".join(map(str, hours))
        else:
            value = int(typed)
        changed |= value != getattr(terms, column)
        setattr(terms, column, value)
    if changed:
        terms.save()


class Migration(migrations.Migration):
    dependencies = (("pricing", "0002_terms_of_sale"),)

    operations = (
        migrations.RunPython(take_over_former_settings, migrations.RunPython.noop),
    )
