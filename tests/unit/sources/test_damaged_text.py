"""Text that another program damaged is remarked, and never changed."""

from pathlib import Path

import pytest

from stackroom.sources.file_rows import find_damage
from stackroom.sources.opener import open_file
from stackroom.sources.port import describe_notes

pytestmark = pytest.mark.row("N19")
WORDS = ["café", "über", "Ärger", "Málaga", "señor", "Åse", "il’s", "“quoted”", "naïve – so"]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "mac_roman"])
def test_utf8_that_was_read_in_another_encoding_is_recognised(word: str, encoding: str) -> None:
    assert find_damage(word.encode().decode(encoding, errors="replace"))


@pytest.mark.parametrize("text", ["“The End”", "it’s", "they’re"])
def test_macroman_that_was_read_as_another_encoding_is_recognised(text: str) -> None:
    assert find_damage(text.encode("mac_roman").decode("cp1252"))


@pytest.mark.parametrize(
    "text",
    [
        *WORDS,
        "SÃO PAULO",
        "“AMANHÔ",
        "IRMÃ – MAÇÃ",
        "CHÂTEAU",
        "âme",
        "√2 and √π",
        "Òscar",
        "Òran Mór",
        "10 °C",
        "Õnne",
    ],
)
def test_text_that_is_as_people_write_it_is_not(text: str) -> None:
    assert not find_damage(text)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", "name,n\nBon\ncafÃ© Ã  la,2\n"), ("a.jsonl", '{"name": "cafÃ© Ã  la"}\n')],
)
def test_damaged_cells_are_counted_with_an_example_and_kept(
    tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content)
    source = open_file(tmp_path / name)
    *_, last = source.iter_rows()
    assert last.values["name"] == "cafÃ© Ã  la"
    (note,) = [note for note in describe_notes(source.notes) if "damaged" in note]
    assert note.startswith(
        "cells read as text that was damaged before, kept as it is: name 1 ('cafÃ© Ã  la', line "
    )
