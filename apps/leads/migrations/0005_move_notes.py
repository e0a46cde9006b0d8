from django.db import migrations


def move_notes(apps, schema_editor):
    """Make each note of a lead the first entry of its conversation."""
    Lead = apps.get_model("leads", "Lead")
    LeadEntry = apps.get_model("leads", "LeadEntry")
    noted = Lead.objects.exclude(note="").select_related("assigned_to")
    for lead in noted.iterator(chunk_size=500):
        author = lead.assigned_to
        LeadEntry.objects.create(
            lead=lead,
            kind="note",
            author=author,
            author_name=author.username if author else "academia",
            body=lead.note,
        )


class Migration(migrations.Migration):
    dependencies = [("leads", "0004_add_conversations")]

    operations = [migrations.RunPython(move_notes, migrations.RunPython.noop)]
