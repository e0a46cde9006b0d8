"""The admin of leads, quotes and requested subjects."""

from apps.leads.admin.leads import LeadAdmin
from apps.leads.admin.quotes import QuoteAdmin
from apps.leads.admin.subject_requests import RequestedSubjectAdmin
from apps.leads.withdrawal.admin import WithdrawalAdmin

__all__ = ["LeadAdmin", "QuoteAdmin", "RequestedSubjectAdmin", "WithdrawalAdmin"]
