"""Exact counts and figures of a number, by up to two fields, over the records that a caller may see."""
