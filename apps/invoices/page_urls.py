from django.urls import path

from apps.invoices import views

urlpatterns = [
    path("factura", views.factura, name="factura"),
    path("factura/<slug:code>.pdf", views.factura_pdf, name="factura-pdf"),
]
