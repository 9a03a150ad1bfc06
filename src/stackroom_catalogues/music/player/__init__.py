"""Likes and playlists of listeners, and their HTTP endpoints."""
