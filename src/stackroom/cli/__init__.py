"""Thin commands over the app."""
