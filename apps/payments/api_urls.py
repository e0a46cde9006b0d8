from django.urls import path

from apps.payments import api
from apps.payments.plan import api as plan_api

urlpatterns = [
    path("get-stripe-public-key", api.StripePublicKey.as_view(), name="api-stripe-key"),
    path("process-checkout", api.ProcessCheckout.as_view(), name="api-process-checkout"),
    path("complete-payment", api.CompletePayment.as_view(), name="api-complete-payment"),
    path("create-auth-user", api.CreateAuthUser.as_view(), name="api-create-auth-user"),
    path("instalments", plan_api.Plan.as_view(), name="api-instalments"),
    path("instalments/pay", plan_api.PayPlan.as_view(), name="api-instalments-pay"),
    path("instalments/card", plan_api.ChangeCard.as_view(), name="api-instalments-card"),
    path("instalments/card-saved", plan_api.CardSaved.as_view(), name="api-instalments-card-saved"),
    path("stripe/webhook", api.StripeWebhook.as_view(), name="api-stripe-webhook"),
]
