"""Signals of the catalogue."""

from django.dispatch import Signal

# Sent by bulk_create, because Django sends no post_save there. `rows` are the saved instances.
rows_added = Signal()
