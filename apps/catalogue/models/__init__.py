from apps.catalogue.models.price_records import CatalogueUpload, PriceBatch, PriceChange
from apps.catalogue.models.studies import (
    Degree,
    Lesson,
    LessonQuerySet,
    Subject,
    SubjectQuerySet,
    University,
    UniversityQuerySet,
)

__all__ = [
    "CatalogueUpload",
    "Degree",
    "Lesson",
    "LessonQuerySet",
    "PriceBatch",
    "PriceChange",
    "Subject",
    "SubjectQuerySet",
    "University",
    "UniversityQuerySet",
]
