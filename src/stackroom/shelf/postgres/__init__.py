"""The records of a catalogue in PostgreSQL, as the one truth of many servers: see
`followed_store`.
"""
