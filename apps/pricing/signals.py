from django.dispatch import Signal

# Sent with `before` and `after` (SaleTerms) in the transaction that changes the terms of sale. A
# receiver returns the sentences that it has for whoever changed them.
terms_changed = Signal()
