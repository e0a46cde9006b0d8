from django.db import migrations

# The release that stopped using the column.
UNUSED_SINCE = "unreleased"


class Migration(migrations.Migration):
    dependencies = [("leads", "0005_move_notes")]

    operations = [migrations.RemoveField(model_name="lead", name="note")]
