"""Child processes: their pipes, their bounds and their end."""

import sys

import pytest

from stackroom.background.processes import (
    PIPED,
    ChildProcess,
    describe_end,
    list_children,
)
from stackroom.errors import UnavailableError

SOON_S = 120.0


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_what_a_child_writes_is_returned_when_it_has_ended() -> None:
    code = "import sys; print(sys.stdin.read().upper()); sys.exit('no more')"
    child = ChildProcess("a child", python(code), reads=True, writes=True, errors=PIPED)
    output, errors = child.finish(longest_s=SOON_S, given=b"abc")
    assert (output.strip(), errors.strip(), child.exit_code) == (b"ABC", b"no more", 1)


def test_a_child_that_takes_too_long_is_ended() -> None:
    child = ChildProcess("a sleeper", python("import time; time.sleep(60)"))
    with pytest.raises(UnavailableError, match="a sleeper did not end within 0 s"):
        child.finish(longest_s=0.1)
    assert not child.is_running


def test_an_error_of_the_checkpoint_ends_the_child() -> None:
    child = ChildProcess("a sleeper", python("import time; time.sleep(60)"))

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        child.finish(longest_s=SOON_S, checkpoint=stop)
    assert not child.is_running


def test_a_child_that_ignores_the_request_to_end_is_killed() -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on',"
        " flush=True); time.sleep(60)"
    )
    child = ChildProcess("a deaf child", python(code), writes=True)
    assert child.output.readline() == b"on\n"
    child.end(within_s=0.1)
    assert child.exit_code is not None
    assert describe_end(child.exit_code) == "by signal 9"


def test_children_that_run_are_listed_by_name() -> None:
    with ChildProcess("a listed child", python("import time; time.sleep(60)")) as child:
        assert ("a listed child", child.pid) in list_children()
    assert ("a listed child", child.pid) not in list_children()
