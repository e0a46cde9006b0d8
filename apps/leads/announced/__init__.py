"""Who wants to be told of a university that opens (docs/rules.md, "Announced universities")."""
