"""Fetching from outside, bounded and checked."""
