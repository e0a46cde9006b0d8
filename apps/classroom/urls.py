from django.urls import path

from apps.classroom import views

urlpatterns = [
    path("aula", views.aula, name="aula"),
    path("aula/perfil", views.perfil, name="aula_perfil"),
    path("aula/salir", views.salir, name="aula_salir"),
    path("aula/enlace", views.enlace, name="aula_enlace"),
    path("aula/confirmar", views.confirmar, name="aula_confirmar"),
    path("aula/acceso", views.acceso, name="aula_acceso"),
]
