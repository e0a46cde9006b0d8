"""The ends of semesters that distance universities have; the owner changes them in the admin."""

from django.db import migrations


def create_semesters(apps, schema_editor):
    semester = apps.get_model("classroom", "Semester")
    semester.objects.create(name="Primer semestre", last_month=2, last_day=31)
    semester.objects.create(name="Segundo semestre y septiembre", last_month=9, last_day=30)


class Migration(migrations.Migration):
    dependencies = [("classroom", "0001_initial")]
    operations = [migrations.RunPython(create_semesters, migrations.RunPython.noop)]
