"""Edits by conversation: `catalog.mutate` over every catalogue that may be edited."""
