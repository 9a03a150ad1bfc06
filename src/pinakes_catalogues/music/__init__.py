"""Artists, albums and tracks."""
