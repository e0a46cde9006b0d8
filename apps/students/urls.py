from django.urls import path

from apps.students import api

urlpatterns = [path("me", api.Me.as_view(), name="api-me")]
