"""The stages of a recording: each on its own copy of the library, the longest first."""

from collections.abc import Callable

from golden_answers.library_scene import record_library
from golden_answers.recorder import Recorder, World
from golden_answers.served_scenes import record_open, record_served
from golden_answers.stdio_scenes import record_stdio
from golden_answers.terminal_scenes import record_terminal

STAGES: dict[str, Callable[[Recorder, World], None]] = {
    "terminal": record_terminal,
    "served": record_served,
    "stdio": record_stdio,
    "open": record_open,
    "python": record_library,
}
