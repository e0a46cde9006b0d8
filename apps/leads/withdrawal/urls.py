from django.urls import path

from apps.leads.withdrawal.views import withdrawal_page

urlpatterns = [path("desistimiento", withdrawal_page, name="desistimiento")]
