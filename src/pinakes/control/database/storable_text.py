"""Texts as every database takes them."""


def storable(text: str) -> str:
    """Return a text in which half characters and NUL, which some database refuses, are written out."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
