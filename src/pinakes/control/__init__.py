"""Who may do what, how often, and what was done: users, tokens, access, limits and the audit.

It owns the control database (SQLite by default, PostgreSQL by URL), which never holds a catalogue's records.
"""
