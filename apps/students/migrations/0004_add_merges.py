import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('students', '0003_add_block'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='student',
            options={'ordering': ('-created_at',), 'permissions': (('block_student', 'Puede bloquear a un alumno'), ('merge_student', 'Puede unir dos alumnos')), 'verbose_name': 'alumno', 'verbose_name_plural': 'alumnos'},
        ),
        migrations.AddField(
            model_name='student',
            name='merged_into',
            field=models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='merged', to='students.student', verbose_name='unido con'),
        ),
    ]
