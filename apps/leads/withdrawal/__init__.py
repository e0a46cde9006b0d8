"""The online function for withdrawing from a contract (docs/rules.md, "Withdrawal")."""
