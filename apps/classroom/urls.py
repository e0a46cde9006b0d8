from django.urls import path

from apps.classroom import views
from apps.classroom.one_sign_in import openid_views

urlpatterns = [
    path("aula", views.aula, name="aula"),
    path("aula/entrar", openid_views.enter_classroom, name="aula_entrar"),
    path(".well-known/openid-configuration", openid_views.configuration),
    path("oidc/autorizar", openid_views.authorize, name="oidc_autorizar"),
    path("oidc/token", openid_views.token, name="oidc_token"),
    path("oidc/userinfo", openid_views.userinfo, name="oidc_userinfo"),
    path("oidc/jwks", openid_views.jwks, name="oidc_jwks"),
    path("oidc/salir", openid_views.end_session, name="oidc_salir"),
    path("oidc/salir-de-todo", openid_views.sign_out_of_both, name="oidc_salir_de_todo"),
    path("aula/perfil", views.perfil, name="aula_perfil"),
    path("aula/salir", views.salir, name="aula_salir"),
    path("aula/enlace", views.enlace, name="aula_enlace"),
    path("aula/confirmar", views.confirmar, name="aula_confirmar"),
    path("aula/acceso", views.acceso, name="aula_acceso"),
]
