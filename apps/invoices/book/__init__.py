"""The book of issued invoices ("libro de facturas expedidas") of any period, for the accountant.

The rules are in docs/rules.md, "The book of issued invoices".
"""
