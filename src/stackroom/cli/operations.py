"""The commands of administrators, derived from operations: arguments, options, help, tables,
`--json`, questions.

A person who can run a command owns the library, so each is run as the local user. A change goes
through the gate, which writes it to the audit before the command reports success.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stackroom.admin.access import ACCESS_OPERATIONS, TOKEN_OPERATIONS
from stackroom.admin.audit import AUDIT_OPERATIONS
from stackroom.admin.catalogues import describe, remove, rename, undo
from stackroom.admin.users import NO_ACCOUNTS, ROLE_OPERATIONS, USER_OPERATIONS
from stackroom.cli.output import (
    HELP,
    json_option,
    print_as_json,
    print_table,
    shortened,
    wants_json,
)
from stackroom.cli.private_files import keep_private
from stackroom.control.control import Control
from stackroom.errors import InputError, InterruptedByUser, NotFoundError
from stackroom.gate.auditing import CallContext
from stackroom.gate.gate import Gate
from stackroom.jobs.board import JobBoard
from stackroom.library import Library
from stackroom.model.principal import Cost
from stackroom.settings import Settings, load_settings
from stackroom.text.safe import safe_text
from stackroom.tools.operation import (
    LOCAL,
    AnyOperation,
    Call,
    Command,
    CommandOption,
    Office,
    RawParams,
    SecretInput,
)
from stackroom.tools.toolbox import Toolbox

ResultT = TypeVar("ResultT")


@contextmanager
def make_control() -> Iterator[Control]:
    """Open the control database of this library; create it if it is missing."""
    settings = load_settings()
    keep_private(settings.home)
    with closing(Control.open(settings)) as control:
        yield control


@contextmanager
def find_control() -> Iterator[Control | None]:
    """Open the control database of this library; None if there is none: reading must not create
    it.
    """
    with make_control() if load_settings().has_control else nullcontext() as control:
        yield control


@contextmanager
def look_at_control() -> Iterator[Control]:
    """Open the control database to read it; one without anything in it, elsewhere, if there is
    none.
    """
    with ExitStack() as stack:
        control = stack.enter_context(find_control())
        if control is None:
            folder = stack.enter_context(TemporaryDirectory())
            control = stack.enter_context(closing(Control.open(Settings(home=Path(folder)))))
        yield control


def perform(
    control: Control, name: str, target: str, noted: Mapping[str, Any], work: Callable[[], ResultT]
) -> ResultT:
    """Do a change, and write to the audit that it was done, or why it failed."""
    ask = CallContext(
        origin=LOCAL, operation=name, target=target, parameters=noted, cost=Cost.WRITE
    )
    return Gate(Toolbox([]), observers=[control.audit]).perform(ask, work)


FROM_STDIN, ONE_TIME = "from_stdin", "one_time"
LONGEST_CELL = 60
NOTHING = "–"
INNER = "__"  # separates the name of a parameter that is an object from a key of it


OpenBoard = Callable[[Control], JobBoard]


def build_group(
    name: str,
    help_text: str,
    operations: Iterable[AnyOperation],
    *,
    open_board: OpenBoard | None = None,
) -> click.Group:
    """Return the group of these operations' commands; `open_board` returns the jobs of the
    library.
    """
    group = click.Group(name, help=help_text)
    for operation in operations:
        if isinstance(operation.faces.command, Command):
            group.add_command(build_command(operation, open_board))
    return group


def build_command(
    operation: AnyOperation,
    open_board: OpenBoard | None = None,
    *,
    open_gate: Callable[[], Gate] | None = None,
) -> click.Command:
    """Return the command of an operation: its parameters as arguments and options. `open_gate`
    returns the gate over the catalogues of an operation about these.
    """
    fields, face = operation.params.model_fields, _face_of(operation)
    taken: list[click.Parameter] = []
    for name in operation.arguments:
        count = -1 if _has_type(fields[name].annotation, list) else 1
        taken.append(click.Argument([name], required=fields[name].is_required(), nargs=count))
    for name, field in fields.items():
        taken += [] if name in operation.arguments else _options(name, field)
    if face.question:
        taken.append(click.Option(["--yes"], is_flag=True, help="Do it without asking."))
    details = [operation.details] if operation.details else []
    example = f"Example: stackroom {face.name} {face.example}".rstrip()
    command = click.Command(
        face.name.rpartition(" ")[2],
        params=taken,
        callback=partial(_run, operation, open_board, open_gate),
        help="\n\n".join([operation.summary, *details, example]),
    )
    return json_option(command)


def _face_of(operation: AnyOperation) -> Command:
    face = operation.faces.command
    known = face if isinstance(face, Command) else Command()
    return known if known.name else replace(known, name=operation.name)


def _options(name: str, field: FieldInfo) -> list[click.Option]:
    """Return the options of a parameter: one, or one for each key of an object, or the ways to give
    a secret.
    """
    if any(isinstance(mark, SecretInput) for mark in _marks(field)):
        return [
            click.Option(
                ["--password-stdin", FROM_STDIN],
                is_flag=True,
                help="Read the password from standard input.",
            ),
            click.Option(
                ["--one-time", ONE_TIME],
                is_flag=True,
                help="Make a password that works for one login.",
            ),
        ]
    stated = next((mark for mark in _marks(field) if isinstance(mark, CommandOption)), None)
    flag = stated.flag if stated else f"--{name.replace('_', '-')}"
    text = f"{(field.description or '').capitalize()}."
    if "{}" in flag:
        return [
            click.Option(
                [flag.format(key), f"{name}{INNER}{key}"],
                metavar=stated and stated.metavar,
                help=f"Of {key}: {text}",
            )
            for key in Cost
        ]
    is_list, is_flag = _has_type(field.annotation, list), _has_type(field.annotation, bool)
    if is_list:
        text = f"{text[:-1]}; can be repeated."
    elif field.default not in (None, False, 0) and not field.is_required():
        text = f"{text[:-1]}; default: {field.default}."
    declared = [f"{flag}/--not-{flag[2:]}" if is_flag and field.default is None else flag, name]
    return [
        click.Option(
            declared,
            metavar=None if is_flag else (stated.metavar if stated else None) or "TEXT",
            required=field.is_required(),
            multiple=is_list,
            is_flag=is_flag,
            default=None,
            help=text,
        )
    ]


def _marks(field: FieldInfo) -> list[Any]:
    """Return the metadata of a field, also of a type that it may have."""
    inner = [
        mark
        for option in get_args(field.annotation)
        for mark in getattr(option, "__metadata__", ())
    ]
    return [*field.metadata, *inner]


def _has_type(annotation: Any, wanted: type) -> bool:
    is_wanted = wanted in (annotation, get_origin(annotation))
    return is_wanted or any(_has_type(inner, wanted) for inner in get_args(annotation))


def _run(
    operation: AnyOperation,
    board: OpenBoard | None,
    open_gate: Callable[[], Gate] | None,
    *,
    yes: bool = False,
    **typed: Any,
) -> None:
    """Run an operation on this library, and print its result."""
    face, values = _face_of(operation), _values_of(typed)
    if open_gate is not None:
        result = open_gate().run(operation, LOCAL, RawParams(values=values))
        print_result(operation, result)
        return
    params = RawParams(values=values).read(operation.params)
    if face.check is not None:
        with _opened(operation, face, board, to_read=True) as (_control, office):
            call = Call(identity=LOCAL.identity, server=Toolbox([]), office=office)
            face.check(call, params)
    if face.question and not yes:
        question = face.question.format(**values)
        if not _is_at_terminal():
            raise InputError(
                f"not at a terminal, so nobody can be asked: {question} give --yes to do it"
            )
        if not click.confirm(question, default=False, err=True):
            raise InterruptedByUser("nothing was done")
    if FROM_STDIN in typed:
        password = _find_password(values, from_stdin=typed[FROM_STDIN], one_time=typed[ONE_TIME])
        values |= {} if password is None else {"password": password}
    with _opened(operation, face, board, to_read=operation.is_read) as (control, office):
        observers = [] if operation.is_read else [control.audit]
        gate = Gate(Toolbox([]), observers=observers, office=office)
        result = gate.run(operation, LOCAL, RawParams(values=values))
    print_result(operation, result)
    failure = face.find_failure(result) if face.find_failure else None
    if failure is not None:
        if not wants_json():
            click.echo(f"stackroom: {failure}", err=True)
        click.get_current_context().exit(1)


def _values_of(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that were given; those of an object are put together."""
    values: dict[str, Any] = {}
    for name, value in typed.items():
        outer, _, key = name.partition(INNER)
        if value is None or value == () or name in (FROM_STDIN, ONE_TIME):
            continue
        if key:
            values.setdefault(outer, {})[key] = value
        else:
            values[name] = list(value) if isinstance(value, tuple) else value
    return values


@contextmanager
def _opened(
    operation: AnyOperation, face: Command, board: OpenBoard | None, *, to_read: bool
) -> Iterator[tuple[Control, Office]]:
    """Open the library for an operation; to read it where there are no accounts, as if they were
    empty.
    """
    library = Library(load_settings().catalogues_folder)
    needs_accounts = operation.needs.accounts and not face.without_accounts
    makes = face.makes_accounts and not to_read
    if needs_accounts and not (makes or (to_read and face.table) or load_settings().has_control):
        raise NotFoundError(NO_ACCOUNTS)
    with make_control() if makes else look_at_control() as control:
        office = Office(
            control=control,
            list_names=lambda: [installed.name for installed in library.list_installed()],
            open_board=cache(partial(board, control)) if board else None,
            library=library,
        )
        try:
            yield control, office
        except NotFoundError as error:
            is_about_accounts = to_read and needs_accounts and not face.makes_accounts
            if is_about_accounts and control.accounts.is_empty():
                raise NotFoundError(NO_ACCOUNTS) from error
            raise


def _find_password(values: Mapping[str, Any], *, from_stdin: bool, one_time: bool) -> str | None:
    """Return the password from standard input or the terminal; None for one that works once."""
    if from_stdin and one_time:
        raise InputError(
            "a password (--password-stdin) or one that works once (--one-time), not both; leave"
            " one out"
        )
    if _is_at_terminal() and not one_time:
        prompt = f"password of {values.get('name', '')}"
        return str(click.prompt(prompt, hide_input=True, confirmation_prompt=True, err=True))
    if not from_stdin:
        return None
    try:
        text = "" if sys.stdin is None else sys.stdin.read()
        text.encode()  # invalid UTF-8 may arrive as lone surrogates
    except UnicodeError:
        raise InputError(
            "the password on standard input is not text (UTF-8); send it as UTF-8"
        ) from None
    line = text.removesuffix("\n").removesuffix("\r")
    if not line or "\n" in line:
        raise InputError("the password must be the only line on standard input")
    return line


def _is_at_terminal() -> bool:
    """Tell whether standard input is a terminal; it may also be closed."""
    return sys.stdin is not None and sys.stdin.isatty()


def print_result(operation: AnyOperation, result: BaseModel) -> None:
    """Print a result: as JSON, as a table or as text; a secret is alone on standard output."""
    face, faces = _face_of(operation), operation.faces
    if print_as_json(result.model_dump(mode="json", by_alias=True)):
        return
    if not face.table:
        secret = getattr(result, faces.secret) if faces.secret else None
        shown = result.model_copy(update={faces.secret: None}) if secret else result
        click.echo(safe_text(faces.text(shown)), err=secret is not None)
        if secret is not None:
            click.echo("this secret is not shown again:", err=True)
            click.echo(secret)
        return
    rows: Sequence[Any] = getattr(result, face.table)
    headings = [name.replace("_", " ") for name in face.columns]
    cells = [
        [
            _cell(row.get(name) if isinstance(row, Mapping) else getattr(row, name))
            for name in face.columns
        ]
        for row in rows
    ]
    if face.is_single:
        print_table(("field", "value"), zip(headings, cells[0], strict=True))
    elif cells:
        print_table(headings, cells)
    else:
        click.echo(face.empty)
    if getattr(result, "has_more", False):
        click.echo(
            f"{len(rows)} of {getattr(result, 'total', '')} are shown; the rest with --offset",
            err=True,
        )


def _cell(value: Any) -> str:
    if isinstance(value, BaseModel):
        return _cell({name: one for name, one in value if one not in (None, "")})
    if isinstance(value, Mapping):
        return shortened(
            ", ".join(f"{name} {_cell(one)}" for name, one in value.items()), LONGEST_CELL
        )
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}Z"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or NOTHING
    return NOTHING if value is None else shortened(value, LONGEST_CELL)


user_command = build_group("user", HELP["user"], USER_OPERATIONS)
role_command = build_group("role", HELP["role"], ROLE_OPERATIONS)
token_command = build_group("token", HELP["token"], TOKEN_OPERATIONS)
access_command = build_group("access", HELP["access"], ACCESS_OPERATIONS)
audit_command = build_group("audit", HELP["audit"], AUDIT_OPERATIONS)
remove_command, rename_command, undo_command, describe_command = map(
    build_command, (remove, rename, undo, describe)
)
