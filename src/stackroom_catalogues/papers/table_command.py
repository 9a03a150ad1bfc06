"""`paper-table`: a catalogue of papers as one SQLite table, and a small file that names the model
of its vectors.

    FILE.sqlite    papers(id INTEGER PRIMARY KEY, title TEXT, authors TEXT, abstract TEXT,
                          publish_year INTEGER, embedding BLOB)
    FILE.json      {"model": "all-MiniLM-L6-v2", "dimension": 384}

`authors` is a JSON list of {"name", "affiliations"}; `embedding` is float32, little-endian, NULL
where there is none. Both files are written under other names and moved into place.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import click
import numpy as np
import orjson

from stackroom.api import InputError, Scope, StorageError
from stackroom.api.commands import OpenLibrary, ShelfReader, iter_key_batches

PAPERS = "papers"
SCHEMA = """
CREATE TABLE papers (
    id INTEGER PRIMARY KEY,
    title TEXT,
    authors TEXT,
    abstract TEXT,
    publish_year INTEGER,
    embedding BLOB
)
"""

PaperRow = tuple[int, str, str, str | None, int | None, bytes | None]


@click.command("paper-table")
@click.argument("catalogue")
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Path(path_type=Path),
    help="The SQLite file to write.",
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.pass_obj
def paper_table_command(
    open_library: OpenLibrary, catalogue: str, target: Path, force: bool, as_json: bool
) -> None:
    """Write CATALOGUE, one of papers, to an SQLite table with its vectors.

    The table is `papers`; the file of the same name that ends in .json says by which model the
    vectors are.
    """
    with closing(open_library()) as app:
        opened = app.open_catalogue(catalogue)
        count = export_paper_table(opened.shelf.reader(), opened.spec.name, target, replace=force)
    if as_json:
        written = {"file": str(target), "config": str(target.with_suffix(".json")), "papers": count}
        click.echo(orjson.dumps(written, option=orjson.OPT_INDENT_2))
    else:
        click.echo(
            f"{count} papers written to {target}; the model is in {target.with_suffix('.json')}"
        )


def export_paper_table(
    reader: ShelfReader, layout: str, target: Path, *, replace: bool = False
) -> int:
    """Write the papers of a reader to `target`, and their model beside it; return the number of
    papers.
    """
    config = target.with_suffix(".json")
    _require_exportable(layout, target, config, replace=replace)
    fresh, fresh_config = (path.with_name(f"{path.name}.new") for path in (target, config))
    try:
        fresh.unlink(missing_ok=True)
        count = _write_table(reader, fresh)
        model = reader.model
        said: dict[str, Any] = {
            "model": model.name if model else None,
            "dimension": model.dimension if model else None,
        }
        if reader.mean is not None:
            said["mean"] = reader.mean.tolist()
        fresh_config.write_bytes(
            orjson.dumps(said, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )
        os.replace(fresh_config, config)
        # commit point: the table is there, whole, with its config before it
        os.replace(fresh, target)
    except (OSError, apsw.Error) as error:
        raise StorageError(
            f"{target}: the table could not be written: {error}; make room, or name another file"
        ) from error
    finally:
        for path in (fresh, fresh_config):
            path.unlink(missing_ok=True)
    return count


def _require_exportable(layout: str, target: Path, config: Path, *, replace: bool) -> None:
    if layout != PAPERS:
        raise InputError(
            f"a catalogue of '{layout}' cannot be exported to a table of papers; one of"
            f" '{PAPERS}' can"
        )
    if target == config:
        raise InputError(
            f"{target}: reserved for the config; a name such as {target.with_suffix('.sqlite')} is"
            " right"
        )
    if not target.parent.is_dir():
        raise InputError(f"{target.parent}: there is no such folder; make it first")
    for path in (target, config):
        if path.is_dir():
            raise InputError(f"{path}: is a folder; give a file")
        if path.exists() and not replace:
            raise InputError(f"{path} already exists; give --force to overwrite it")


def _write_table(reader: ShelfReader, path: Path) -> int:
    with closing(apsw.Connection(str(path))) as table:
        table.pragma("journal_mode", "off")  # nobody sees the file before it is whole
        table.execute(SCHEMA)
        with table:
            table.executemany("INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?)", _iter_papers(reader))
        return int(table.execute("SELECT count(*) FROM papers").get)


def _iter_papers(reader: ShelfReader) -> Iterator[PaperRow]:
    """Yield the papers in the order in which they came; their numbers are the same in every
    export.
    """
    for keys in iter_key_batches(reader):
        records = reader.fetch(keys, scope=Scope())
        for key, vector in zip(keys, reader.vectors(keys), strict=True):
            record = records[key]
            authors = [
                {name: one[name] for name in ("name", "affiliations")}
                for one in record.get("authors") or ()
            ]
            yield (
                int(key),
                str(record.get("title")),
                orjson.dumps(authors).decode(),
                record.get("abstract"),
                record.get("publish_year"),
                vector.astype("<f4").tobytes() if np.any(vector) else None,
            )
