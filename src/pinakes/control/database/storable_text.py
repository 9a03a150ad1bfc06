"""Text that every database can store."""


def storable(text: str) -> str:
    """Return a text with lone surrogates and NUL, which some database refuses, escaped."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
