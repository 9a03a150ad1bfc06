"""Catalogues that are installed from releases: install, update, go back."""
