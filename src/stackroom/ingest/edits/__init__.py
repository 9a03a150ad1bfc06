"""Edits by hand: plan, apply, undo, and reconciling them with sources."""
