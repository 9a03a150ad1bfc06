"""Discographies from MusicBrainz: an optional, polite client of its web service."""
