"""The figures of a month for owner and accountant (docs/rules.md, "Reports")."""
