"""Failure drills: the production stack on free ports, failures, and a count of what was lost."""
