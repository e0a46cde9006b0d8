from django.urls import path

from apps.payments import views

urlpatterns = [
    path("success", views.success, name="success"),
    path("cancel", views.cancel, name="cancel"),
    path("plazos", views.plazos, name="plazos"),
    path("complete-payment", views.complete_payment, name="complete-payment"),
    path("correo/confirmar", views.confirm_email, name="confirm-email"),
    path("renovar", views.renew, name="renovar"),
    path("avisos/baja", views.stop_cart_reminders, name="stop-reminders"),
]
