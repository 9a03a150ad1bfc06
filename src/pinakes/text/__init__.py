"""Text into tokens, titles and wishes. Pure functions: one analyser for every shelf, at build and at query."""
