"""Composition roots: the application, building, maintenance and the admin server."""
