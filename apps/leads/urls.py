from django.urls import path

from apps.leads import api

urlpatterns = [
    path("send-budget-email", api.SendBudgetEmail.as_view()),
    path("send-contact-email", api.SendContactEmail.as_view()),
    path("send-discount-email", api.SendDiscountEmail.as_view()),
    path("send-subject-request-email", api.SendSubjectRequestEmail.as_view()),
    path("request-free-subject", api.RequestFreeSubject.as_view()),
    path("send-preview-contact", api.SendPreviewContact.as_view()),
    path("quotes", api.QuoteByLink.as_view()),
]
