"""The conversation about a proposed spec: it is shown, changed until it is right, and built, kept or given up."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import click

from stackroom.assembly.proposal import ProfiledTable, Proposal
from stackroom.catalogue.infer.choices import NONE, Choices
from stackroom.cli.choices import read_role, read_type
from stackroom.cli.proposal import print_changed, print_proposal
from stackroom.cli.spec_file import write_spec
from stackroom.errors import ExpectedError, InputError, did_you_mean

QUESTION = "Build it? [Y]es, [n]o, or change it (? for how)"
HELP = """\
title COLUMN         what names a record; also composed: title {from} – {to}
id COLUMN            what identifies a row; "id none": ids are made of the rows
body COLUMN          the main text; "body none": there is none
type COLUMN TYPE     text, text[], tag[], int, float, date, url or json
role COLUMN ROLE     title, alternatives, body, time, popularity, place, people, picture, link or none
drop COLUMN, …       leave columns out
keep COLUMN, …       keep columns that would be left out
group COLUMN         make one record of all rows that have the same value there; "group none": of each row
undo                 take the last change back
show                 show the proposal again
save FILE            write the spec to a file
yes, no              build it; build nothing"""


def agree_on(table: ProfiledTable, *, name: str, choices: Choices) -> Proposal | None:
    """Return the proposal that the user agrees to, or None where they decline; end of input declines."""
    return _Conversation(table, name, choices).run()


class _Conversation:
    """One conversation, with the choices made so far."""

    def __init__(self, table: ProfiledTable, name: str, choices: Choices) -> None:
        self._table = table
        self._name = name
        self._past = [choices]
        self._proposal = table.propose(name=name, choices=choices)

    def run(self) -> Proposal | None:
        """Ask until the answer is yes or no."""
        print_proposal(self._proposal)
        while True:
            try:
                answer = click.prompt(QUESTION, default="yes", show_default=False, prompt_suffix=": ")
            except click.Abort:
                click.echo()
                return None
            verb, _, rest = answer.strip().partition(" ")
            if verb.lower() in ("yes", "y"):
                return self._proposal
            if verb.lower() in ("no", "n", "quit", "q"):
                return None
            self._try(verb.lower(), rest.strip())

    def _try(self, verb: str, rest: str) -> None:
        """Carry out a line; print what is wrong with it, and go on."""
        try:
            self._carry_out(verb, rest)
        except ExpectedError as error:
            click.echo(error.message)

    def _carry_out(self, verb: str, rest: str) -> None:
        if verb in ("?", "help"):
            click.echo(HELP)
        elif verb == "show":
            print_proposal(self._proposal)
        elif verb == "save":
            _save(rest, self._proposal)
        elif verb == "undo":
            self._undo()
        elif verb in CHANGES:
            if not rest:
                raise InputError(f"{verb}: which column? ? shows how to say it")
            self._change(CHANGES[verb](self._past[-1], rest))
        else:
            known = [*CHANGES, "undo", "show", "save", "yes", "no"]
            raise InputError(f"'{verb[:40]}' is not understood{did_you_mean(verb, known)}; ? shows what is")

    def _change(self, choices: Choices) -> None:
        proposal = self._table.propose(name=self._name, choices=choices)
        self._past.append(choices)
        print_changed(self._proposal, proposal)
        self._proposal = proposal

    def _undo(self) -> None:
        if len(self._past) == 1:
            raise InputError("undo: nothing was changed")
        self._past.pop()
        before = self._proposal
        self._proposal = self._table.propose(name=self._name, choices=self._past[-1])
        print_changed(before, self._proposal)


def _save(stated: str, proposal: Proposal) -> None:
    if not stated:
        raise InputError("save: to which file? as in: save catalogue.toml")
    write_spec(Path(stated).expanduser(), proposal.loaded.declaration)
    click.echo(f"saved: {stated}")


def _listed(stated: str) -> frozenset[str]:
    return frozenset(name for one in stated.split(",") if (name := one.strip()))


def _last_word(choice: str, stated: str) -> tuple[str, str]:
    column, _, word = stated.rpartition(" ")
    if not column.strip():
        raise InputError(f"{choice}: as in: {choice} COLUMN {choice.upper()}")
    return column.strip(), word


def _with_type(choices: Choices, stated: str) -> Choices:
    column, kind = _last_word("type", stated)
    return replace(choices, types={**choices.types, column: read_type(kind)})


def _with_role(choices: Choices, stated: str) -> Choices:
    column, role = _last_word("role", stated)
    return replace(choices, roles={**choices.roles, column: read_role(role)})


def _with_drop(choices: Choices, stated: str) -> Choices:
    columns = _listed(stated)
    return replace(choices, drop=choices.drop | columns, keep=choices.keep - columns)


def _with_keep(choices: Choices, stated: str) -> Choices:
    columns = _listed(stated)
    return replace(choices, keep=choices.keep | columns, drop=choices.drop - columns)


CHANGES: Mapping[str, Callable[[Choices, str], Choices]] = {
    "title": lambda choices, stated: replace(choices, title=stated),
    "id": lambda choices, stated: replace(choices, id=stated),
    "body": lambda choices, stated: replace(choices, body=stated),
    "group": lambda choices, stated: replace(choices, group=None if stated == NONE else stated),
    "type": _with_type,
    "role": _with_role,
    "drop": _with_drop,
    "keep": _with_keep,
}
"""First word of a line → the choices with what the rest of the line says."""
