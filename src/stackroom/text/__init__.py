"""Tokens, title matching, preference sentences and passages. Pure functions, shared by every
shelf.
"""
