from django.urls import path

from apps.catalogue import api
from apps.catalogue.search import SEARCHES
from apps.core.page_cache.policy import public_answer

_PAGE = ("university_id", "degree_id", "search", "page", "sort", "page_size")

urlpatterns = [
    path("universities", public_answer(api.Universities.as_view())),
    path("degrees", public_answer(api.Degrees.as_view(), "university_id")),
    path("subjects", public_answer(api.Subjects.as_view(), "degree_id")),
    path("catalogue", public_answer(api.Catalogue.as_view(), *_PAGE)),
    path("suggestions", public_answer(api.Suggestions.as_view(), "q", limit=SEARCHES)),
]
