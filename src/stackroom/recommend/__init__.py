"""Titles someone likes → more of the kind: taste → candidates → signals → blend → diversify, each
explainable.
"""
