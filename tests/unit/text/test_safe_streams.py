"""Standard output and error of commands: nothing that is printed controls the terminal."""

import io
import sys
from collections.abc import Callable
from typing import TextIO, cast

import click
import pytest

from stackroom.text.safe import SafeStream, install_safe_streams, terminal_stream

Install = Callable[[], io.BytesIO]

EVIL = "\x1b[31mred\x1b[0m\x07 \u202etitle"


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Makes the standard output of a test safe, and returns the bytes that reach it."""

    def install() -> io.BytesIO:
        raw = io.BytesIO()
        monkeypatch.setattr(
            sys, "stdout", io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
        )
        monkeypatch.setattr(sys, "stderr", sys.stderr)
        install_safe_streams()
        return raw

    return install


def test_printed_text_is_safe(install: Install) -> None:
    raw = install()
    print(EVIL)
    click.echo(EVIL)
    sys.stdout.writelines([EVIL])
    assert raw.getvalue().decode() == "red title\nred title\nred title"


def test_printed_bytes_are_safe(install: Install) -> None:
    raw = install()
    click.echo(EVIL.encode())
    sys.stdout.buffer.write(b"\x1b]0;x\x07 and \xff")
    assert raw.getvalue().decode() == "red title\n and \ufffd"


def test_the_stream_is_otherwise_that_of_the_process(install: Install) -> None:
    install()
    assert sys.stdout.encoding == "utf-8"
    assert not sys.stdout.isatty()


def test_streams_are_made_safe_once(install: Install) -> None:
    install()
    before = sys.stdout
    install_safe_streams()
    assert sys.stdout is before
    assert isinstance(sys.stdout, SafeStream)


def test_colours_of_tables_go_to_the_terminal(install: Install) -> None:
    raw = install()
    terminal_stream().write("\x1b[1mtitle\x1b[0m")
    assert raw.getvalue() == b"\x1b[1mtitle\x1b[0m"


def test_a_stream_that_is_not_safe_yet_is_the_terminal_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = cast(TextIO, io.StringIO())
    monkeypatch.setattr(sys, "stdout", plain)
    assert terminal_stream() is plain
