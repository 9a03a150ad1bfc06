"""A library that is opened from Python: its catalogues, what is added to it, and every tool of its
server.
"""

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from stackroom.assembly.app import App, gate_over
from stackroom.assembly.build import Order, add_catalogue, find_own_recipe, own_recipe, read_order
from stackroom.assembly.model_choice import find_brought_model, install_model, want_model
from stackroom.catalogue.infer.declare import NO_CHOICES, Choices
from stackroom.errors import InputError, NotFoundError
from stackroom.gate.gate import Gate
from stackroom.generic import tools
from stackroom.generic.shapes import SearchParams
from stackroom.ingest.pipeline import IngestReport, ListRows
from stackroom.ingest.proposal import profile_table
from stackroom.library import require_name
from stackroom.model.principal import LOCAL_USER
from stackroom.packages import load_target
from stackroom.python.catalogue import (
    Catalogue,
    Record,
    Results,
    as_filters,
    list_whole,
    text_columns,
)
from stackroom.settings import load_settings
from stackroom.sources.file_rows import plain_value
from stackroom.sources.location import ReadOptions
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.spec import validate_fields

HOME = "STACKROOM_HOME"
FOUND = ("catalogue", "id", "title", "relevance", "text")


def open_library(home: str | os.PathLike[str] | None = None) -> "Library":
    """Open the library in a folder, or that of the settings; a folder without one gets it with the
    first catalogue.
    """
    environment = (
        dict(os.environ) if home is None else {**os.environ, HOME: str(Path(home).expanduser())}
    )
    return Library(App(load_settings(environment)))


class Library:
    """Catalogues by name. Safe to use from several threads; close it, or use it in a `with`
    statement.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._guard = threading.RLock()
        self._asked: dict[tuple[str, ...], Gate] = {}
        self._gates: dict[tuple[str, ...], Gate] = {}

    @property
    def home(self) -> Path:
        """The folder of the library."""
        return self._app.settings.home

    def __iter__(self) -> Iterator[str]:
        return iter([one.name for one in self._app.library.list_installed()])

    def __len__(self) -> int:
        return len(self._app.library.list_installed())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._app.library.find_installed(name) is not None

    def __getitem__(self, name: str) -> Catalogue:
        self.open_catalogue(name)
        return Catalogue(name, partial(self.open_catalogue, name), partial(self._gate_over, name))

    def __repr__(self) -> str:
        return f"<Library {self.home}: {', '.join(self) or 'empty'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every catalogue, and end what runs beside."""
        self._app.close()

    def add(
        self,
        table: Any,
        *,
        name: str | None = None,
        package: str | None = None,
        spec: str | os.PathLike[str] | None = None,
        options: ReadOptions | None = None,
        choices: Choices = NO_CHOICES,
        embed: bool = True,
        model: str | None = None,
        accept_losses: bool = False,
        progress: Callable[[IngestReport], None] = lambda _report: None,
    ) -> Catalogue:
        """Build a catalogue of a table, or update it, and return it.

        A table is the path or address of a file or folder, a DataFrame of pandas or polars, an
        Arrow table, or an iterable of dictionaries; those that are in memory need a `name`. How it
        is read is inferred from its rows, unless a `package` or a `spec` says it; `choices` change
        what is inferred, `options` how a file is read. `progress` is called with the counts so far.
        Added again, it is updated: rows that are gone are removed.
        """
        order = self._order(table, name, package, spec, options or ReadOptions())
        losses = order.source.measure_losses()
        if losses.are_grave and not accept_losses:
            message = (
                f"{order.location}: {losses}; nothing was built; accept_losses=True builds it"
                " without them"
            )
            raise InputError(message)
        recipe = order.recipe or (
            find_own_recipe(self._app, order.name) if choices == NO_CHOICES else None
        )
        if recipe is None:
            recipe = own_recipe(
                profile_table(order.source).propose(name=order.name, choices=choices).loaded
            )
        its_spec, is_own = recipe.loaded.spec, recipe.is_own
        model = model or find_brought_model(
            self._app, order.name, order.source, its_spec, is_own=is_own
        )
        if embed:
            installed = self._app.library.find_installed(order.name)
            choice = want_model(self._app, its_spec, installed, asked=model, is_own=is_own)
            install_model(self._app, choice, say=lambda _text: None, quiet=True)
        add_catalogue(
            self._app,
            order.source,
            recipe=recipe,
            name=order.name,
            progress=progress,
            embed=embed,
            replaces_samples=True,
            model=model,
        )
        with self._guard:
            self._app.reopen_catalogue(order.name)
            self._asked.clear()
            self._gates.clear()
        return self[order.name]

    def search(self, query: str, *, limit: int = 10, **fields: Any) -> Results:
        """Search every catalogue that has the fields of the filters, the best records of all
        first.
        """
        asked = {"query": query, "filters": as_filters(fields) or None, "limit": limit}
        found = self._gate_over(*self).ask(tools.search, validate_fields(SearchParams, asked))
        whole: dict[str, Record] = {}
        for name in dict.fromkeys(one.catalogue for one in found.results):
            view = self.open_catalogue(name).view()
            whole |= list_whole(view, [one for one in found.results if one.catalogue == name])
        records = [whole[one.id] for one in found.results if one.id in whole]
        rows = [[getattr(record, name) for name in FOUND] for record in records]
        return Results(
            columns=text_columns(*FOUND),
            rows=rows,
            records=records,
            total=found.total,
            evidence=found.evidence,
            notes=found.notes,
        )

    def call(self, tool: str, *, names: Sequence[str] = (), **arguments: Any) -> dict[str, Any]:
        """Call any tool of the server over all catalogues, or over those of `names`, and return its
        answer.
        """
        with self._guard:
            gate = self._gates.get(tuple(names)) or self._app.build_gate(names)
            self._gates[tuple(names)] = gate
        answer = gate.call(LOCAL_USER, tool, arguments)
        if answer.error is not None:
            raise answer.error
        return answer.structured or {}

    def open_catalogue(self, name: str) -> OpenCatalogue:
        """Return an installed catalogue, opened once."""
        with self._guard:
            return self._app.open_catalogue(name)

    def _gate_over(self, *names: str) -> Gate:
        """Return the gate to the generic tools over these catalogues."""
        if not names:
            raise NotFoundError("the library is empty; add a table first")
        with self._guard:
            if names not in self._asked:
                self._asked[names] = gate_over(*map(self.open_catalogue, names))
            return self._asked[names]

    def _order(
        self, table: Any, name: str | None, package: str | None, spec: Any, options: ReadOptions
    ) -> Order:
        if isinstance(table, str | os.PathLike):
            spec_file = Path(spec) if spec is not None else None
            return read_order(
                self._app,
                [os.fspath(table)],
                spec_name=package,
                spec_file=spec_file,
                name=name,
                options=options,
            )
        if name is None:
            raise InputError(
                "'name' is missing: the name of the catalogue that is made of these rows"
            )
        require_name(name)
        return Order(
            location=name,
            source=ListRows(rows_of(table), name=f"python:{name}"),
            name=name,
            recipe=None,
        )


ARROW_TABLE = "arro3.core:Table"
MISSING = ("NaTType", "NAType")
"""The classes of what pandas has for a missing date or value."""


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame, of an Arrow table, or of an iterable of dictionaries, in
    plain cells.
    """
    if hasattr(table, "to_dicts"):  # polars
        rows = table.to_dicts()
    elif hasattr(table, "to_dict"):  # pandas
        rows = table.to_dict(orient="records")
    elif hasattr(table, "__arrow_c_stream__"):
        columns = load_target(ARROW_TABLE)(table)
        named = {name: columns[name].to_pylist() for name in columns.column_names}
        rows = [dict(zip(named, cells, strict=True)) for cells in zip(*named.values(), strict=True)]
    else:
        rows = list(table) if isinstance(table, Iterable) else None
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        kind = type(table).__name__
        raise InputError(
            "a table is a path, a DataFrame, an Arrow table or dictionaries with values; given:"
            f" {kind}"
        )
    return [{str(name): _plain(cell) for name, cell in row.items()} for row in rows]


def _plain(cell: Any) -> Any:
    """Return a cell without what only a DataFrame has: NaN, and scalars of numpy."""
    cell = cell.item() if hasattr(cell, "item") and not hasattr(cell, "__len__") else cell
    is_number = not isinstance(cell, float) or math.isfinite(cell)
    return plain_value(cell) if is_number and type(cell).__name__ not in MISSING else None
