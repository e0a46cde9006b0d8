"""Backups: the database and the stored files in one archive, and the way back.

`manage.py backup` and `manage.py restore` use this package (docs/operations.md, "Backups").
"""
