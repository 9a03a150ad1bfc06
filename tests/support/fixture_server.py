"""The shared server over tools and resources that are made for tests: `python fixture_server.py`,
with STACKROOM_HOME.

Everything but the tools is as in `stackroom serve --http`: accounts, limits, audit, every
transport.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from stackroom.control.control import Control
from stackroom.gate.answer import AnswerCache
from stackroom.gate.gate import Gate
from stackroom.model.principal import Action
from stackroom.serve.async_gate import Workers
from stackroom.serve.connections import Streams
from stackroom.serve.http.app import serve_http
from stackroom.serve.http.metrics import Metrics
from stackroom.serve.http.service import Service
from stackroom.serve.logs import CallLog, set_up_logging
from stackroom.settings import load_settings
from stackroom.tools.operation import AnyOperation
from stackroom.tools.resources import ResourceContent, ResourceEntry, ResourceSpec
from stackroom.tools.spec import ToolParams, ToolResult
from stackroom.tools.toolbox import Toolbox
from support.health import GivenHealth
from support.plain_tools import loaded, make_tool


class Params(ToolParams):
    """What every tool of these takes."""

    text: str = ""
    seconds: float = 0.0


class Result(ToolResult):
    """What every tool of these gives."""

    done: str


def tool(
    name: str, work: Callable[[Params], str] = lambda params: params.text, **changes: Any
) -> AnyOperation:
    """Declare a tool that reads; it needs AccessCatalog, unless it is said otherwise."""
    return make_tool(
        name=name,
        description=f"{name}.",
        params=Params,
        result=Result,
        run=lambda _principal, params: Result(done=work(params)),
        text=lambda result: result.done,
        **changes,
    )


def resource(action: Action) -> ResourceSpec:
    """Declare a resource that needs this action."""
    prefix = f"{action.lower()}://"
    return ResourceSpec(
        prefix=prefix,
        action=action,
        entries=lambda _principal: [ResourceEntry(uri=f"{prefix}a", name=f"{action} a")],
        read=lambda _principal, rest: (
            ResourceContent(mime_type="text/plain", text=rest) if rest == "a" else None
        ),
        template=prefix + "{name}",
        name=str(action),
        description=f"What {action} opens.",
    )


def wait(params: Params) -> str:
    """Take as long as was asked for, or until there is a file `release` in the library."""
    never, release = threading.Event(), Path(os.environ["STACKROOM_HOME"]) / "release"
    ends_at = time.monotonic() + params.seconds
    while time.monotonic() < ends_at and not release.exists():
        never.wait(0.02)
    return f"waited for {params.text}"


def break_down(params: Params | None) -> NoReturn:
    """Have a bug."""
    raise ZeroDivisionError(f"secret path /etc/shadow {params}")


TOOLS = [
    *(tool(f"needs.{action}", action=action) for action in Action),
    tool("echo"),
    tool("wait", wait),
    tool("broken", break_down),
]
RESOURCES = [resource(action) for action in Action]


def main() -> None:
    """Serve until a signal."""
    settings = load_settings(flags={("server", "port"): 0})
    set_up_logging(level=settings.log_level, form=settings.server.log_format)
    metrics = Metrics()
    health: Any = GivenHealth()  # without a problem, whatever there is
    with closing(Control.open(settings)) as control:
        gate = Gate(
            Toolbox(TOOLS, RESOURCES),
            limiter=control.limiter,
            observers=[control.audit, metrics, CallLog()],
            cache=AnswerCache(settings.server.cache_size),
        )
        service = Service(
            settings=settings,
            opened_gate=loaded(gate),
            control=control,
            metrics=metrics,
            workers=Workers(threads=settings.server.threads, queue=settings.server.queue),
            streams=Streams(settings.server.streams),
            health=health,
        )
        serve_http(
            service,
            on_listening=lambda address: print(
                f"serving at {address} ", file=sys.stderr, flush=True
            ),
        )


if __name__ == "__main__":
    main()
