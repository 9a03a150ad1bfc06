"""Parsing of table cells: empty cells, numbers, dates, lists and texts, in the many ways that tables write them.

A cell is parsed by its form alone; `ingest.values` converts it to the type of its field. Every function returns None
for a text that it cannot read, and raises nothing.
"""
