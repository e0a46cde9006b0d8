from django.db import migrations, models
from django.db.models import F


def date_earlier_rows(apps, schema_editor):
    """Give rows of before the moments that are known of them."""
    refunds = apps.get_model("orders", "Refund").objects
    sent_back = refunds.filter(status="failed").exclude(reference="") | refunds.filter(
        status="outside"
    )
    sent_back.update(sent_back_at=F("settled_at"))
    apps.get_model("orders", "Dispute").objects.update(withdrawn_at=F("opened_at"))


class Migration(migrations.Migration):
    dependencies = [("orders", "0008_keep_agreed_totals")]

    operations = [
        migrations.AddField(
            model_name="refund",
            name="sent_back_at",
            field=models.DateTimeField(
                blank=True, null=True, verbose_name="rechazada por el banco"
            ),
        ),
        migrations.AddField(
            model_name="dispute",
            name="withdrawn_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="dinero retenido"),
        ),
        migrations.RunPython(date_earlier_rows, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="refund",
            index=models.Index(
                condition=models.Q(("sent_back_at__isnull", False)),
                fields=["sent_back_at"],
                name="refund_by_sent_back",
            ),
        ),
    ]
