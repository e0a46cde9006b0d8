from django.urls import path

from apps.invoices import api

urlpatterns = [path("invoice-details", api.InvoiceDetails.as_view(), name="api-invoice-details")]
