"""Export and import of the catalogue as a .csv, .xlsx or .json file.

The layout is flat (`columns`): one line for each lesson, with its subject, degree and university in
the same line. A university is matched by its acronym, and a degree, subject or lesson by its name
within its parent. An import never deletes rows.
"""
