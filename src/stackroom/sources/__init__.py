"""Bytes → rows: one module per format. A source iterates over rows with their positions."""
