"""`install`: write the configuration of a client, so that it uses Stackroom, and remove it
again.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import click

from stackroom.cli.clients.config_file import (
    NAME,
    ConfigFormat,
    ConfigTextError,
    Entry,
    add_entry,
    backup_of,
    find_entry,
    read_text,
    remove_entry,
    update_file,
)
from stackroom.cli.clients.formats import JSONC, TOML, YAML
from stackroom.cli.opening import open_app
from stackroom.cli.output import (
    FILE,
    HELP,
    command,
    flag,
    json_option,
    print_answer,
    print_as_json,
    print_table,
    wants_json,
)
from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.settings import load_settings
from stackroom.toml_text import load_packaged


@frozen
class ClientSpec:
    """A client with a configuration file, and the form of an entry there."""

    title: str
    folder: str = "home"
    file: str  # the file in it, for every project of the user
    section: str = "mcpServers"
    # programs on the search path that tell that the client is installed
    programs: tuple[str, ...] = ()
    plain_names: bool = True
    """Whether it is shown tool names without dots; False where names with dots are known to
    work.
    """
    has_types: bool = False  # whether an entry says by which transport its server is reached
    http_type: str = "http"
    names: Mapping[str, str] = field(default_factory=dict)
    """The names of url, headers, command and env, where they are others."""
    others: Mapping[str, Any] = field(default_factory=dict)  # what every entry has besides

    def path(self) -> Path:
        """Return the configuration file."""
        return FOLDERS[self.folder]() / self.file

    @property
    def form(self) -> ConfigFormat:
        """The format of the file."""
        return {".toml": TOML, ".yaml": YAML}.get(Path(self.file).suffix, JSONC)

    def entry_of(self, server: Mapping[str, Any]) -> dict[str, Any]:
        """Return the entry of a server."""
        kind = {"type": self.http_type if "url" in server else "stdio"} if self.has_types else {}
        return {
            **kind,
            **self.others,
            **{self.names.get(part, part): value for part, value in server.items()},
        }


POINTER = ".lmstudio-home-pointer"


def _folder(variable: str, default: Path) -> Path:
    """Return the folder that an environment variable names, or the default."""
    return Path(os.environ[variable]).expanduser() if os.environ.get(variable) else default


def _settings(*, is_desktop: bool = True) -> Path:
    """Return the folder in which programs keep their settings; on macOS, desktop programs have one
    of their own.
    """
    if sys.platform == "win32":
        return _folder("APPDATA", Path.home() / "AppData/Roaming")
    if sys.platform == "darwin":
        return Path.home() / ("Library/Application Support" if is_desktop else ".config")
    return _folder("XDG_CONFIG_HOME", Path.home() / ".config")


def _claude_desktop() -> Path:
    """Claude Desktop; on Windows, one from the store or the present installer reads its own virtual
    folder.
    """
    packages = _folder("LOCALAPPDATA", Path.home() / "AppData/Local") / "Packages"
    if sys.platform == "win32":
        for package in sorted(packages.glob("Claude_*")):
            return package / "LocalCache/Roaming/Claude"
    return _settings() / "Claude"


def _goose() -> Path:
    if os.environ.get("GOOSE_PATH_ROOT"):
        return Path(os.environ["GOOSE_PATH_ROOT"]) / "config"
    return _settings(is_desktop=False) / (
        "Block/goose/config" if sys.platform == "win32" else "goose"
    )


def _lm_studio() -> Path:
    """LM Studio: its folder is named by a pointer file, or is the former one where that exists."""
    pointer, former = Path.home() / POINTER, Path.home() / ".cache/lm-studio"
    if pointer.is_file():
        return Path(pointer.read_text(encoding="utf-8").strip())
    return former if former.is_dir() else Path.home() / ".lmstudio"


FOLDERS: Mapping[str, Callable[[], Path]] = {
    "home": Path.home,
    "settings": _settings,
    "claude-desktop": _claude_desktop,
    "claude-code": lambda: _folder("CLAUDE_CONFIG_DIR", Path.home()),
    "codex": lambda: _folder("CODEX_HOME", Path.home() / ".codex"),
    "zed": lambda: _settings(is_desktop=False) / ("Zed" if sys.platform == "win32" else "zed"),
    "goose": _goose,
    "lm-studio": _lm_studio,
}
CLIENTS = {
    name: ClientSpec(**told)
    for name, told in load_packaged("stackroom.cli.clients", "clients.toml").items()
}


TOOL_NAMES = "tool_names"
PLAIN = "plain"


def local_server(
    home: Path, catalogues: Sequence[str], *, plain_names: bool = False
) -> dict[str, Any]:
    """Return the command that starts this Stackroom on this library, over standard input and
    output.
    """
    command, *args = find_command()
    env = {
        "STACKROOM_HOME": str(home.absolute()),
        **({"STACKROOM_TOOL_NAMES": PLAIN} if plain_names else {}),
    }
    return {"command": command, "args": [*args, "serve", *catalogues], "env": env}


def find_command() -> list[str]:
    """Return the command of the Stackroom that runs, which needs no search path."""
    beside = shutil.which(NAME, path=str(Path(sys.executable).absolute().parent))
    return [beside] if beside is not None else [str(Path(sys.executable).absolute()), "-m", NAME]


def remote_server(url: str, token: str, *, plain_names: bool = False) -> dict[str, Any]:
    """Return the address of a shared server, which is checked, and the header with a token, if it
    is not empty; MCP is at `/mcp`.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # ValueError where it is no port
        is_server = (
            parts.scheme in {"http", "https"}
            and parts.hostname
            and not parts.username
            and not parts.fragment
        )
    except ValueError:
        is_server = False
    if not is_server:
        raise InputError(
            f"--url: '{url}' is not the address of a server; such as https://stackroom.example.org"
        )
    if any(not "!" <= letter <= "~" for letter in token):
        raise InputError("--token: a token has no blanks and only ASCII characters")
    query = dict(parse_qsl(parts.query)) | ({TOOL_NAMES: PLAIN} if plain_names else {})
    path = parts.path if parts.path.strip("/") else "/mcp"
    address = urlunsplit((parts.scheme, parts.netloc, path, urlencode(query), ""))
    headers = {"headers": {"Authorization": f"Bearer {token}"}} if token else {}
    return {"url": address, **headers}


def holds_token(entry: Any) -> bool:
    """Tell whether an entry has a token in its headers."""
    headers = (
        [entry.get(name) for name in ("headers", "http_headers")] if isinstance(entry, dict) else []
    )
    return any(isinstance(header, dict) and "Authorization" in header for header in headers)


CHATGPT = "chatgpt"
CLAUDE_DESKTOP = "claude-desktop"

BY_ADDRESS = {
    CHATGPT: (
        "Settings → Apps → Advanced settings: Developer mode; then Create app, with the MCP server"
        " URL {url}"
    ),
    CLAUDE_DESKTOP: (
        "Settings → Connectors → Add custom connector, with the remote MCP server URL {url}"
    ),
}
"""Clients that take an address in their settings only, and where; docs/clients.md has the rest."""


@frozen
class _ClientFile:
    """A client's file, and how to report on it."""

    client: str
    spec: ClientSpec
    path: Path

    def find_entry(self) -> Any | None:
        """Return the entry that the file has, or None."""
        return find_entry(self.spec.form, read_text(self.path) or "", self.spec.section)

    def is_found(self) -> bool:
        """Tell whether the client seems to be on this machine: by its file, the folder of that, or
        its programs.
        """
        has_folder = self.path.parent.is_dir() and self.path.parent not in (Path.home(), Path.cwd())
        return self.path.exists() or has_folder or any(map(shutil.which, self.spec.programs))

    def report(self, action: str, message: str, **more: Any) -> None:
        """Say what was done."""
        told = {"client": self.client, "file": str(self.path), "action": action, **more}
        print_answer(told, message)


@command("install")
@click.argument(
    "client", required=False, metavar="[CLIENT]", type=click.Choice([*CLIENTS, CHATGPT])
)
@click.argument("catalogues", nargs=-1)
@flag("--remove", help="Remove the entry again; the rest of the file stays as it is.")
@flag("--print", "only_print", help="Show the configuration instead of writing it.")
@click.option("--url", help="Use the shared server at this address instead of starting one.")
@click.option("--token", help="With --url: a token of that server; - reads it from standard input.")
@flag("--yes", help="Overwrite an existing entry without asking.")
@click.option("--config", type=FILE, help=HELP["install --config"])
@json_option
def install_command(
    client: str | None,
    catalogues: tuple[str, ...],
    remove: bool,
    only_print: bool,
    url: str | None,
    token: str | None,
    yes: bool,
    config: Path | None,
) -> None:
    """Write CLIENT's configuration, so that it starts Stackroom with CATALOGUES (all of the
    library's by default).
    """
    if client is None:
        _list_clients()
        return
    if token is not None and url is None:
        raise InputError("--token is for --url only")
    if url is not None and catalogues:
        raise InputError(
            "--url takes no catalogues: the shared server chooses them by the caller; leave"
            " them out"
        )
    if client == CHATGPT or (client == CLAUDE_DESKTOP and url is not None):
        address = remote_server(url, "")["url"] if url else "https://…/mcp of your server"
        raise InputError(
            f"{client} has no file for an address; in it: {BY_ADDRESS[client].format(url=address)}"
        )
    spec = CLIENTS[client]
    file = _ClientFile(client=client, spec=spec, path=config or spec.path())
    if remove:
        _remove(file)
        return
    entry = spec.entry_of(_choose_server(spec, catalogues, url, token))
    if only_print:
        click.echo(f"# {file.path}", err=True)
        click.echo(spec.form.insert("", spec.section, entry), nl=False)
        return
    if config is not None and holds_token(entry):
        click.echo(f"{file.path} holds your token now: keep it out of version control", err=True)
    _write(file, entry, yes=yes)


def _choose_server(
    spec: ClientSpec, catalogues: Sequence[str], url: str | None, token: str | None
) -> dict[str, Any]:
    if url is not None:
        return remote_server(url, _read_token(token), plain_names=spec.plain_names)
    settings = load_settings()
    library = open_app(settings).library
    for name in catalogues:
        library.get_installed(name)
    if not library.list_installed():
        click.echo(
            f"the library in {settings.home} is empty; fill it with: stackroom init, or stackroom"
            " add FILE",
            err=True,
        )
    return local_server(settings.home, catalogues, plain_names=spec.plain_names)


def _read_token(token: str | None) -> str:
    if token != "-":
        return token or ""
    if sys.stdin.isatty():
        typed: str = click.prompt("token", hide_input=True, err=True)
        return typed.strip()
    return sys.stdin.readline().strip()


def _write(file: _ClientFile, entry: Entry, *, yes: bool) -> None:
    spec, path = file.spec, file.path
    try:
        former = file.find_entry()
        question = f"{path} has an entry 'stackroom' already; overwrite it?"
        if (
            former not in (None, entry)
            and not yes
            and not click.confirm(question, default=False, err=True)
        ):
            raise InputError(f"nothing was written; {path} is as it was")
        is_private = holds_token(entry) or holds_token(former)
        had_file, is_found = path.exists(), file.is_found()
        changed = update_file(
            path,
            lambda text: add_entry(spec.form, text or "", spec.section, entry),
            is_private=is_private,
        )
    except ConfigTextError as error:
        if not wants_json():
            click.echo(spec.form.insert("", spec.section, entry), nl=False)
        problem = (
            f"{path} cannot be edited ({error}); nothing was written, so add this to it yourself"
        )
        raise InputError(problem) from None
    if not changed:
        file.report("unchanged", f"{path} has this entry already")
        return
    backup = str(backup_of(path)) if had_file else None
    message = (
        f"restart {spec.title} to use it"
        if is_found
        else f"{spec.title} was not found here; written anyway"
    )
    file.report("written", f"written: {path}; {message}", backup=backup, found=is_found)


def _remove(file: _ClientFile) -> None:
    spec, path = file.spec, file.path
    try:
        former, backup = file.find_entry(), read_text(backup_of(path))
        is_secret = holds_token(former)

        def remove_from(text: str | None) -> str | None:
            """Return the file without the entry; None where the file had been made for it."""
            rest = remove_entry(spec.form, text or "", spec.section, backup=backup)
            return rest if rest.strip() or rest == backup else None

        changed = former is not None and update_file(
            path, remove_from, is_private=is_secret, keep_former=not is_secret
        )
    except ConfigTextError as error:
        where = f"'{NAME}' in '{spec.section}'"
        raise InputError(
            f"{path} cannot be edited ({error}); nothing was written: remove {where} yourself"
        ) from None
    if changed:
        file.report("removed", f"removed from {path}; restart {spec.title}")
    else:
        file.report("absent", f"{path} has no entry 'stackroom'")


def _list_clients() -> None:
    rows: list[dict[str, Any]] = []
    for name, spec in CLIENTS.items():
        file, is_installed = _ClientFile(client=name, spec=spec, path=spec.path()), False
        with suppress(ConfigTextError, InputError):
            is_installed = file.find_entry() is not None
        told = {"client": name, "title": spec.title, "found": file.is_found()}
        rows.append({**told, "installed": is_installed, "file": str(file.path)})
    if print_as_json(rows):
        return
    marks = {True: "yes", False: ""}
    shown = [
        (row["client"], marks[row["found"]], marks[row["installed"]], row["file"]) for row in rows
    ]
    print_table(
        ("client", "found here", "uses Stackroom", "file"),
        [*shown, (CHATGPT, "", "", "by address: --url")],
    )
    click.echo(
        "\nTo connect one: stackroom install CLIENT; to disconnect it: stackroom install CLIENT"
        " --remove"
    )
