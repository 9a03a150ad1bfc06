"""Accounts, tokens, restricted catalogues, rate limits and the audit.

It owns the control database (SQLite by default, PostgreSQL by URL), which never holds a catalogue's
records.
"""
