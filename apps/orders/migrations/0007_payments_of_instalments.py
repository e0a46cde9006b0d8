from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0006_keep_links_and_plans")]

    operations = [
        migrations.RemoveField("payment", "instalment"),
        migrations.AlterField(
            "payment",
            "instalments",
            models.ManyToManyField(
                blank=True,
                related_name="payments",
                to="orders.instalment",
                verbose_name="plazos",
            ),
        ),
    ]
