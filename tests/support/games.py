"""A small catalogue of board games, for tests that publish and sync it."""

GAMES_SPEC = """
name = "games"
title = "Games"
summary = "Board games."
id = "id"

[fields.title]
type = "text"
role = "title"
search = true
"""
