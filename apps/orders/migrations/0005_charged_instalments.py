import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("orders", "0004_quotes_that_bind")]

    operations = [
        migrations.AddField(
            "order",
            "card_reference",
            models.CharField("tarjeta", max_length=80, blank=True, default="", editable=False),
            preserve_default=False,
        ),
        migrations.AddField(
            "order",
            "card_label",
            models.CharField(
                "tarjeta (texto)", max_length=60, blank=True, default="", editable=False
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            "order",
            "card_refusal",
            models.CharField("rechazo de la tarjeta", max_length=60, blank=True, default=""),
            preserve_default=False,
        ),
        migrations.AddField(
            "instalment", "charge_on", models.DateField("próximo cobro", null=True, blank=True)
        ),
        migrations.AddField(
            "instalment",
            "first_refused_on",
            models.DateField("primer rechazo", null=True, blank=True),
        ),
        migrations.AddField(
            "instalment",
            "leased_until",
            models.DateTimeField(null=True, blank=True, editable=False),
        ),
        migrations.AddField(
            "instalment", "noticed_at", models.DateTimeField("aviso previo", null=True, blank=True)
        ),
        migrations.RemoveIndex("instalment", "instalment_by_due"),
        migrations.AddIndex(
            "instalment",
            models.Index(fields=["status", "charge_on"], name="instalment_by_charge"),
        ),
        migrations.CreateModel(
            name="InstalmentAttempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField(verbose_name="intento")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("automatic", "Cobro automático"),
                            ("by_hand", "Pago del alumno"),
                        ],
                        max_length=10,
                        verbose_name="tipo",
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("started", "Sin confirmar"),
                            ("open", "Abierto"),
                            ("processing", "En proceso"),
                            ("succeeded", "Cobrado"),
                            ("refused", "Rechazado"),
                            ("void", "Sin efecto"),
                        ],
                        default="started",
                        max_length=10,
                        verbose_name="resultado",
                    ),
                ),
                (
                    "amount",
                    models.DecimalField(
                        decimal_places=2, max_digits=8, verbose_name="importe (€)"
                    ),
                ),
                (
                    "payment_method",
                    models.CharField(blank=True, max_length=80, verbose_name="tarjeta"),
                ),
                (
                    "reference",
                    models.CharField(blank=True, max_length=80, verbose_name="referencia"),
                ),
                (
                    "error_code",
                    models.CharField(blank=True, max_length=60, verbose_name="error"),
                ),
                (
                    "started_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, verbose_name="empezado"
                    ),
                ),
                (
                    "finished_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="terminado"),
                ),
                (
                    "instalment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="orders.instalment",
                        verbose_name="plazo",
                    ),
                ),
            ],
            options={
                "verbose_name": "intento de cobro",
                "verbose_name_plural": "intentos de cobro",
                "ordering": ("instalment", "number"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("instalment", "number"), name="instalment_attempt_number_once"
                    ),
                    models.UniqueConstraint(
                        condition=Q(
                            ("kind", "automatic"), ("outcome__in", ("started", "processing"))
                        ),
                        fields=("instalment",),
                        name="one_unsettled_charge_per_instalment",
                    ),
                ],
            },
        ),
        migrations.AddField(
            "payment",
            "instalments",
            models.ManyToManyField(
                blank=True,
                related_name="+",
                to="orders.instalment",
                verbose_name="plazos",
            ),
        ),
    ]
