"""Rows → records → shelf: map, check, deduplicate, embed, write. Rejects are kept and counted."""
