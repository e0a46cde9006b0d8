"""The desk of the forms: requests, quotes and the subjects that visitors miss."""

from apps.leads.admin.leads import LeadAdmin
from apps.leads.admin.quotes import QuoteAdmin
from apps.leads.admin.wanted import WantedSubjectAdmin

__all__ = ["LeadAdmin", "QuoteAdmin", "WantedSubjectAdmin"]
