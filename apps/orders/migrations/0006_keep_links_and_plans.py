from django.db import migrations
from django.db.models import F


def keep_links_and_plans(apps, schema_editor):
    """Each payment keeps its instalment, each plan its card, and what is due its day."""
    Payment = apps.get_model("orders", "Payment")
    for payment in Payment.objects.exclude(instalment=None):
        payment.instalments.add(payment.instalment)
    for payment in Payment.objects.exclude(payment_method="").filter(
        order__payment_type="installment", status="succeeded"
    ):
        payment.order.card_reference = payment.payment_method
        payment.order.save(update_fields=["card_reference"])
    apps.get_model("orders", "Instalment").objects.filter(status="due").update(
        charge_on=F("due_on")
    )


class Migration(migrations.Migration):
    dependencies = [("orders", "0005_charged_instalments")]

    operations = [migrations.RunPython(keep_links_and_plans, migrations.RunPython.noop)]
