from django.db import migrations, models
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    dependencies = [
        ("students", "0003_confirmed_emails"),
    ]

    operations = [
        migrations.AlterConstraint(
            "student",
            "student_email_once",
            models.UniqueConstraint(
                Lower("email"),
                name="student_email_once",
                violation_error_message="Ese correo ya es de otro alumno.",
            ),
        ),
    ]
