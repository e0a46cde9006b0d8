"""What the catalogue tells of itself beyond Django's own signals."""

from django.dispatch import Signal

# Sent by bulk_create, which sends no post_save. Argument: rows (the saved instances).
rows_added = Signal()
