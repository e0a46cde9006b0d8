from django.db import migrations, models
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now


def confirm_those_who_signed_in(apps, schema_editor):
    """Every sign-in needs a link that was mailed to the address, or a password set by one.

    A student whose address has changed since may not have confirmed the new one.
    """
    sign_ins = apps.get_model("students", "SignIn").objects.filter(student=OuterRef("pk"))
    changes = apps.get_model("students", "FormerEmail").objects.filter(student=OuterRef("pk"))
    students = apps.get_model("students", "Student").objects.filter(erased_at=None)
    students.filter(Exists(sign_ins), ~Exists(changes)).update(email_confirmed_at=Now())


class Migration(migrations.Migration):

    dependencies = [
        ('students', '0002_classroom_key'),
    ]

    operations = [
        migrations.AddField(
            model_name='student',
            name='email_confirmed_at',
            field=models.DateTimeField(blank=True, editable=False, null=True, verbose_name='correo confirmado'),
        ),
        migrations.RunPython(confirm_those_who_signed_in, migrations.RunPython.noop),
    ]
