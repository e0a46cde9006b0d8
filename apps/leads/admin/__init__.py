"""The admin of leads, answer templates, quotes and requested subjects."""

from apps.leads.admin.announced import UniversityNoticeAdmin
from apps.leads.admin.leads import AnswerTemplateAdmin, LeadAdmin
from apps.leads.admin.quotes import QuoteAdmin
from apps.leads.admin.subject_requests import RequestedSubjectAdmin
from apps.leads.withdrawal.admin import WithdrawalAdmin

__all__ = [
    "AnswerTemplateAdmin",
    "LeadAdmin",
    "QuoteAdmin",
    "RequestedSubjectAdmin",
    "UniversityNoticeAdmin",
    "WithdrawalAdmin",
]
