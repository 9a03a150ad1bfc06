"""Text into tokens, titles and preferences. Pure functions: one analyser for every shelf, at build and at query."""
