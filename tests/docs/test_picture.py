"""The picture of the README shows what the pages show, which other tests hold against the program."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_picture_is_drawn_from_the_commands_of_the_page() -> None:
    spec = importlib.util.spec_from_file_location("build_picture", ROOT / "scripts" / "build_picture.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    assert script.TARGET.read_text(encoding="utf-8") == script.draw(), "docs/picture.svg lags; run: make picture"
    assert script.TARGET.stat().st_size < 30_000
    assert sum(line.startswith("$ ") for line in script.iter_lines()) == len(script.SHOWN)
