"""The file to which a spec is written for the user."""

from pathlib import Path

from stackroom.errors import InputError


def write_spec(path: Path, declaration: str) -> None:
    """Write a spec to a new file; an existing file is never replaced."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(declaration)
    except FileExistsError as error:
        raise InputError(f"{path}: it is there already; choose another name") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
