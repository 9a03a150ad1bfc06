"""Parsing of table cells by their form alone: a function returns None for a text that it cannot
read; none raises.
"""
