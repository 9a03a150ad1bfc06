"""Releases of a catalogue: places that have them, what has to be fetched, and how they are merged with hand edits."""
