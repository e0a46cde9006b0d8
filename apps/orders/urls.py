from django.urls import path

from apps.orders import api

urlpatterns = [
    path("validate-promo-code", api.ValidatePromoCode.as_view(), name="api-validate-promo-code"),
    path("orders/recover", api.RecoverOrder.as_view(), name="api-recover-order"),
    path("orders/correct-email", api.CorrectEmail.as_view(), name="api-correct-email"),
    path("lesson-credit", api.LessonCredit.as_view(), name="api-lesson-credit"),
    path("orders/by-payment", api.OrderByPayment.as_view(), name="api-order-by-payment"),
]
