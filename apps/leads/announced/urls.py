from django.urls import path

from apps.leads.announced import views

urlpatterns = [
    path("avisame", views.ask_page, name="avisame"),
    path("avisame/confirmar", views.confirm_page, name="avisame-confirmar"),
    path("avisame/baja", views.stop_page, name="avisame-baja"),
]
