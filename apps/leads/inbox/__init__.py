"""The inbox: what staff do with a lead (docs/rules.md, "Inbox")."""
