"""Bytes → rows: one file a format. A source iterates rows and says where each one stands."""
