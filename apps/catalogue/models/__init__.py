from apps.catalogue.models.lessons import Lesson, LessonQuerySet
from apps.catalogue.models.price_records import CatalogueUpload, PriceBatch, PriceChange
from apps.catalogue.models.studies import (
    Degree,
    StaleCount,
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
    "StaleCount",
    "Subject",
    "SubjectQuerySet",
    "University",
    "UniversityQuerySet",
]
