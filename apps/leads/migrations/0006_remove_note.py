from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("leads", "0005_move_notes")]

    operations = [migrations.RemoveField(model_name="lead", name="note")]
