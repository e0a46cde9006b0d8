from django.urls import path

from apps.payments import api

urlpatterns = [
    path("get-stripe-public-key", api.StripePublicKey.as_view(), name="api-stripe-key"),
    path("process-checkout", api.ProcessCheckout.as_view(), name="api-process-checkout"),
    path("complete-payment", api.CompletePayment.as_view(), name="api-complete-payment"),
    path("create-auth-user", api.CreateAuthUser.as_view(), name="api-create-auth-user"),
    path("stripe/webhook", api.StripeWebhook.as_view(), name="api-stripe-webhook"),
]
