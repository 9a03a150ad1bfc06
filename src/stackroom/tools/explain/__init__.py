"""Explanations of searches: why a record has its rank, or what keeps it out of an answer."""
