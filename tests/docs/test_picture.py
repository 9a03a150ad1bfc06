"""The picture of the README shows what the pages show, which other tests hold against the
program.
"""

import build_picture


def test_the_picture_is_drawn_from_the_commands_of_the_page() -> None:
    drawn = build_picture.TARGET.read_text(encoding="utf-8")
    assert drawn == build_picture.draw(), "docs/picture.svg lags; run: make picture"
    assert build_picture.TARGET.stat().st_size < 30_000
    assert sum(line.startswith("$ ") for line in build_picture.iter_lines()) == len(
        build_picture.SHOWN
    )
