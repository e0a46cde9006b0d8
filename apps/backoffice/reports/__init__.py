"""The figures of a period for owner and accountant (docs/rules.md, "Reports")."""
