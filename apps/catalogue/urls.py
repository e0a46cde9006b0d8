from django.urls import path

from apps.catalogue import api

urlpatterns = [
    path("universities", api.Universities.as_view()),
    path("degrees", api.Degrees.as_view()),
    path("subjects", api.Subjects.as_view()),
    path("catalogue", api.Catalogue.as_view()),
]
