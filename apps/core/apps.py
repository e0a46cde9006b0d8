from django import forms
from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate, post_save, pre_save
from django.urls import reverse
from django.utils.module_loading import autodiscover_modules

from apps.core.legal.publish import publish_first_versions

# Django's errors of fields, in the tone of the site, which speaks to its readers as "tú".
MOMENT = "Escribe una fecha y una hora válidas, como 31/12/2026 y 18:30."
MESSAGES: dict[type[forms.Field], dict[str, str]] = {
    forms.EmailField: {"invalid": "Escribe un correo electrónico válido."},
    forms.URLField: {"invalid": "Escribe una dirección completa, como https://ejemplo.com."},
    forms.IntegerField: {"invalid": "Escribe un número entero."},
    forms.DecimalField: {"invalid": "Escribe un número."},
    forms.DateField: {"invalid": "Escribe una fecha válida, como 31/12/2026."},
    forms.TimeField: {"invalid": "Escribe una hora válida, como 18:30."},
    forms.DateTimeField: {"invalid": MOMENT},
    forms.SplitDateTimeField: {
        "invalid_date": "Escribe una fecha válida, como 31/12/2026.",
        "invalid_time": "Escribe una hora válida, como 18:30.",
    },
}


def use_familiar_form_messages() -> None:
    """Give the classes of fields these messages. Messages of one field or subclass still win."""
    for field, messages in MESSAGES.items():
        field.default_error_messages = {**field.default_error_messages, **messages}


class CoreConfig(AppConfig):
    name = "apps.core"
    verbose_name = "Correos, textos y ajustes"

    def import_models(self) -> None:
        # Fields copy their class's messages when they are made, so this precedes every form.
        use_familiar_form_messages()
        super().import_models()

    def ready(self) -> None:
        from apps.core import checks, privacy, public_pictures  # noqa: F401  (registers the system checks)
        from apps.core.backup_record import create_backup_row
        from apps.core.mail.recipient_limits import Origin
        from apps.core.mail.registry import absolute_url, register_mail
        from apps.core.models import LegalText, SiteSettings
        from apps.core.monitoring.tracing import add_request_id
        from apps.core.page_cache.triggers import create_triggers, shown_publicly
        from apps.core.rehearsal import announce, refuse_marked_database
        from apps.core.staff import recycle_bin
        from apps.core.staff.staff_log import copy_entry
        from apps.core.web.api_sentences import use_familiar_sentences
        from apps.core.workers import silence
        from apps.core.workers.heartbeats import create_missing_rows

        announce()
        connection_created.connect(refuse_marked_database)
        use_familiar_sentences()
        register_mail(
            "job_failed",
            "Ha fallado una tarea: {{ title }}",
            lambda ids: {
                "title": ids["title"],
                "admin_url": absolute_url(reverse("admin:core_scheduledjob_changelist")),
            },
            origin=Origin.STAFF,
            is_fixed=True,
        )
        silence.register_mails()
        # Each app's `mail_samples.py` describes its mails.
        autodiscover_modules("mail_samples")
        post_migrate.connect(publish_first_versions, sender=self)
        post_save.connect(copy_entry, sender="admin.LogEntry")
        post_migrate.connect(create_missing_rows, sender=self)
        post_migrate.connect(create_backup_row, sender=self)
        shown_publicly(LegalText, SiteSettings)
        post_migrate.connect(create_triggers, sender=self)
        pre_save.connect(add_request_id, sender="django_tasks_database.DBTaskResult")
        # Each app's `jobs.py` registers its scheduled jobs.
        autodiscover_modules("jobs")
        # Each app's `privacy.py` registers its personal data and its retention rules.
        autodiscover_modules("privacy")
        privacy.register()
        recycle_bin.register()
        public_pictures.register()
