import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Make the number of an enrolment's order a foreign key. The column keeps name and values."""

    dependencies = [
        ('classroom', '0006_group_of_enrolment'),
    ]

    operations = [
        migrations.AlterField(
            model_name='enrolment',
            name='order_id',
            field=models.ForeignKey(db_column='order_id', on_delete=django.db.models.deletion.PROTECT, related_name='enrolments', to='classroom.provisioning', to_field='order_id', verbose_name='alta'),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField(model_name='enrolment', old_name='order_id', new_name='provisioning'),
            ],
        ),
    ]
