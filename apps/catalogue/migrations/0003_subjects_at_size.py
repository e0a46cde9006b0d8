import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import OuterRef, Q, Subquery

# Immutable, so that an index can be made of it; nothing but built-in functions, so that it works
# wherever a dump is restored.
TRIGRAMS = """
CREATE FUNCTION catalogue_trigrams(name text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ARRAY(SELECT DISTINCT substr(name, place, 3) FROM generate_series(1, length(name) - 2) place);
"""
BY_TRIGRAM = """
CREATE INDEX subject_by_trigram ON catalogue_subject
USING gin (catalogue_trigrams(name_search));
"""


def universities_of_degrees(apps, schema_editor):
    Degree = apps.get_model("catalogue", "Degree")
    apps.get_model("catalogue", "Subject")._base_manager.update(
        university=Subquery(Degree.objects.filter(pk=OuterRef("degree")).values("university"))
    )
    if schema_editor.connection.vendor == "postgresql":
        # The table can't be altered while the check of its foreign keys waits for the commit.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def on_postgresql(*statements):
    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            for statement in statements:
                schema_editor.execute(statement)

    return run


def university(**options):
    return models.ForeignKey(
        db_index=False,
        editable=False,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to="catalogue.university",
        **options,
    )


def in_catalogue_order(*filters, include, name):
    return migrations.AddIndex(
        model_name="subject",
        index=models.Index(
            condition=Q(("active", True), ("active_lessons_count__gt", 0)),
            fields=[*filters, "-enrolled_students_count", "name_sort", "id"],
            include=include,
            name=name,
        ),
    )


class Migration(migrations.Migration):
    dependencies = [
        ("catalogue", "0002_names_bytewise"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex(model_name="subject", name="subject_by_degree"),
        migrations.RemoveIndex(model_name="subject", name="subject_by_enrolled"),
        migrations.AddField("subject", "university", university(null=True)),
        migrations.RunPython(universities_of_degrees, migrations.RunPython.noop),
        migrations.AlterField("subject", "university", university()),
        migrations.AddIndex(
            model_name="lesson",
            index=models.Index(fields=["position", "id"], name="lesson_by_position"),
        ),
        migrations.AddIndex(
            model_name="pricechange",
            index=models.Index(fields=["-changed_at", "-id"], name="price_change_by_moment"),
        ),
        in_catalogue_order(include=("name_search", "university"), name="subject_shown"),
        in_catalogue_order(
            "university", include=("name_search",), name="subject_shown_university"
        ),
        in_catalogue_order(
            "degree", include=("name_search", "university"), name="subject_shown_degree"
        ),
        migrations.AddIndex(
            model_name="subject",
            index=models.Index(fields=["name_sort", "id"], name="subject_by_name"),
        ),
        migrations.AddIndex(
            model_name="subject",
            index=models.Index(
                fields=["university", "name_sort", "id"], name="subject_by_university"
            ),
        ),
        migrations.RunPython(
            on_postgresql(TRIGRAMS, BY_TRIGRAM),
            on_postgresql(
                "DROP INDEX subject_by_trigram", "DROP FUNCTION catalogue_trigrams(text)"
            ),
        ),
    ]
