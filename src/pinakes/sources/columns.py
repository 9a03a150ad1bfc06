"""What the tables have in common, whatever their format: the names of columns, and bytes in cells."""

from collections.abc import Iterable


def unique_names(names: Iterable[str]) -> list[str]:
    """Return the names, each once: a second `x` is `x_2`, and the third column, if it has no name, `column_3`."""
    given = [name.strip() or f"column_{place}" for place, name in enumerate(names, start=1)]
    taken: set[str] = set()
    result = []
    for name in given:
        free, number = name, 2
        while free in taken or (free != name and free in given):
            free, number = f"{name}_{number}", number + 1
        taken.add(free)
        result.append(free)
    return result


def text_in(cell: bytes) -> str | None:
    """Return the text that bytes are, None where they are something else, such as a picture."""
    try:
        text = cell.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
