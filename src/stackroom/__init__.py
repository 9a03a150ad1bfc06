"""Stackroom: catalogue servers for AI assistants. Importing the package has no side effects."""

__version__ = "0.2.0"
