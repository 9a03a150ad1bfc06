"""Configuration files of assistants: where they are, and how an entry for Stackroom is written and
removed.
"""
