"""The catalogue as a file, out and in: .csv, .xlsx, .json.

One flat layout (`columns`): a line for each lesson, with its subject, degree and university beside
it. Rows are matched by what identifies them on the site: a university by its acronym, the others by
their name within the one above. Nothing is ever deleted by a file.
"""
