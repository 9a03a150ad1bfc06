"""`serve`: catalogues for assistants."""

import gc
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib.abc import Loader
from types import ModuleType
from typing import Any

import click

from stackroom.assembly.app import App
from stackroom.assembly.serving import ToolChoice
from stackroom.background.threads import new_pool
from stackroom.cli.opening import open_app
from stackroom.errors import ExpectedError, InputError, NotFoundError
from stackroom.gate.gate import Gate
from stackroom.model.principal import AuditEntry
from stackroom.settings import Settings, load_settings
from stackroom.sources.collections import find_place

CONTROL_MODULE = "stackroom.control.control"
UPKEEP_MODULE = "stackroom.assembly.upkeep"
STDIO_MODULE = "stackroom.serve.stdio"
HTTP_MODULE = "stackroom.cli.host"  # slow to import; loaded where they are needed
STOP_S = 1.0
FIRST_ANSWERS_S = 1.0
"""How long the model is not loaded, for the sake of the first answers; a call that needs it loads
it at once.
"""


@click.command("serve")
@click.argument("catalogues", nargs=-1)
@click.option(
    "--tools",
    type=click.Choice([choice.value for choice in ToolChoice]),
    default=ToolChoice.AUTO.value,
    show_default=True,
    help=(
        "The catalogues' own tools (own), search, fetch, similar and browse over all (generic), or"
        " both (all)."
    ),
)
@click.option(
    "--http",
    "over_http",
    is_flag=True,
    help="Serve over the network: HTTP, SSE, WebSocket, REST, a page.",
)
@click.option("--host", help="With --http: the address to listen on.  [default: 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    help="With --http: the port; 0 takes a free one.  [default: 8080]",
)
@click.option(
    "--accounts/--no-accounts", default=None, help="With --http: whether callers must log in."
)
@click.option(
    "--mcp-enabled/--no-mcp-enabled",
    default=None,
    help="With --http: MCP beside REST, or REST alone.",
)
@click.option(
    "--tool-names",
    type=click.Choice(["dotted", "plain"]),
    help=(
        "List tools as catalog.mutate, or as catalog_mutate for clients that allow no dots. "
        " [default: dotted]"
    ),
)
def serve_command(
    catalogues: tuple[str, ...],
    tools: str,
    over_http: bool,
    host: str | None,
    port: int | None,
    accounts: bool | None,
    mcp_enabled: bool | None,
    tool_names: str | None,
) -> None:
    """Serve CATALOGUES (all of the library's by default) to an assistant, over standard input and
    output.

    With --http it is a shared server on one port, with accounts; the first start creates the first
    account.

    The generic tools are offered unless a single catalogue is served whose own tools replace them.
    """
    given = {
        ("server", "host"): host,
        ("server", "port"): port,
        ("server", "accounts"): accounts,
        ("mcp", "enabled"): mcp_enabled,
    }
    flags = {place: value for place, value in given.items() if value is not None}
    if flags and not over_http:
        raise InputError(
            f"--{next(iter(flags))[1].replace('enabled', 'mcp-enabled')} is for --http only"
        )
    if tool_names is not None:
        flags["mcp", "tool_names"] = tool_names
    # until everything is loaded: none of it is garbage, and collecting takes a tenth of the start
    gc.disable()
    settings = load_settings(flags=flags)
    app = open_app(settings)
    if find_place(settings) is None:  # else catalogues may still come
        unfinished = app.library.list_unfinished()
        for name in [name for name in catalogues if name not in unfinished] or catalogues:
            app.library.get_installed(name)
        if not app.library.list_installed() and not app.library.check():
            raise NotFoundError("the library is empty; run: stackroom init")
    build = partial(app.build_gate, catalogues, tools=ToolChoice(tools))

    def load(**parts: Any) -> Gate:
        """Open the catalogues and the model before the first call."""
        gate = build(**parts)
        _load_models(app)
        return gate

    if over_http:
        importlib.import_module(HTTP_MODULE).host(app, settings, load)
    else:
        _serve_stdio(app, settings, build)


def _serve_stdio(app: App, settings: Settings, build: Callable[..., Gate]) -> None:
    # The SDK takes about half a second to import; the catalogues are opened meanwhile. The control
    # database and the model are needed for calls only, so they are loaded after the first answers.
    with new_pool("loader", 1) as loader:
        audit = AuditOnDemand(settings) if settings.has_control else None
        gate = loader.submit(build, observers=[audit] if audit else [])
        prepare_sdk()
        stdio = importlib.import_module(STDIO_MODULE)
        answered = threading.Event()
        loader.submit(_load_rest, app, audit, answered)
        close = audit.close if audit else lambda: None
        level, names = settings.log_level, settings.mcp.tool_names
        stdio.serve_stdio(
            gate, log_level=level, tool_names=names, at_end=close, on_introduced=answered.set
        )
        answered.set()
    app.background.stop(STOP_S)
    close()


class AuditOnDemand:
    """Implements `Observer` with the audit of a control database, opened by `open` or else by the
    first call.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._guard = threading.Lock()
        self._control: Any = None

    def open(self) -> None:
        """Open the database, unless it is open; raise StorageError if that fails."""
        with self._guard:
            if self._control is None:
                self._control = importlib.import_module(CONTROL_MODULE).Control.open(self._settings)

    @property
    def is_open(self) -> bool:
        """Whether the database is open."""
        return self._control is not None

    @property
    def database(self) -> Any:
        """The control database, once it is open."""
        return self._control.database

    def begin(self, entry: AuditEntry) -> None:
        """Note a call that is about to change something."""
        self.open()
        self._control.audit.begin(entry)

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        """Write an entry; a call whose entry cannot be written fails."""
        self.open()
        self._control.audit.write(entry, durable=durable)

    def close(self) -> None:
        """Write queued entries, and close the database if it is open."""
        with self._guard:
            if self._control is not None:
                self._control.close()
                self._control = None


def prepare_sdk() -> None:
    """Let the packages of the SDK run their own code when something asks for a name in them.

    They import its client and its high-level server, which serving over stdio does not use: 0.4 of
    1.4 s of CPU.
    """
    for name in ("mcp", "mcp.server"):
        spec = importlib.util.find_spec(name)
        if name not in sys.modules and spec is not None and spec.loader is not None:
            package = importlib.util.module_from_spec(spec)
            package.__getattr__ = partial(_run_package, package, spec.loader)  # type: ignore[method-assign]
            sys.modules[name] = package
    importlib.import_module("mcp.types")  # as `from mcp import types` would ask the package for it


def _run_package(package: ModuleType, loader: Loader, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    del package.__getattr__
    loader.exec_module(package)
    return getattr(package, name)


def _load_rest(app: App, audit: AuditOnDemand | None, answered: threading.Event) -> None:
    """Load what only calls need, when the client has its first answers, or takes its time to ask
    for them.
    """
    answered.wait(FIRST_ANSWERS_S)
    try:
        if audit:
            audit.open()
    except ExpectedError as error:
        click.echo(
            f"stackroom: calls cannot be audited, and so not be answered: {error.message}", err=True
        )
    _load_models(app)
    database = audit.database if audit and audit.is_open else None
    importlib.import_module(UPKEEP_MODULE).add_upkeep(app, database)
    app.background.start()


def _load_models(app: App) -> None:
    """Load the models by using them, and say why one does not work."""
    for embedder in app.list_embedders(app.list_open()) or [app.embedder]:
        problem = embedder.check()
        try:
            if problem is None:
                embedder.embed_query("warm up")
        except ExpectedError as error:
            problem = error.message
        if problem:
            click.echo(f"stackroom: vector search is off: {problem}", err=True)
    gc.freeze()
    gc.enable()
