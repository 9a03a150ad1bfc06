"""Which source a location names, and what is said of those that name none."""

import io
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from arro3.core import Array, DataType, Table
from arro3.io import write_parquet

from stackroom.assembly.build import open_rows
from stackroom.errors import InputError
from stackroom.packages import PACKAGES
from stackroom.sources import compressed
from stackroom.sources.json_rows import JsonRows
from stackroom.sources.location import ReadOptions
from stackroom.sources.opener import ENDINGS, open_source
from stackroom.sources.port import RowSource
from support.reading import PACKED, PACKERS
from support.spreadsheets import write_ods, write_xls, write_xlsx

pytestmark = pytest.mark.row("N1")


LINES = b'{"title": "Bread"}\n{"title": "Salt"}\n'


def parquet() -> bytes:
    file = io.BytesIO()
    write_parquet(Table.from_pydict({"title": Array(["Bread", "Salt"], DataType.string())}), file)
    return file.getvalue()


def sqlite(folder: Path) -> bytes:
    path = folder / "made"
    with closing(apsw.Connection(str(path))) as db:
        db.execute("CREATE TABLE t (title TEXT); INSERT INTO t VALUES ('Bread'), ('Salt')")
    return path.read_bytes()


def content_of(ending: str, folder: Path) -> bytes:
    if ending in (".xlsx", ".xlsm", ".xls", ".ods"):
        write = {".ods": write_ods, ".xls": write_xls}.get(ending, write_xlsx)
        return write(folder / "made", {"a": [["title"], ["Bread"], ["Salt"]]}).read_bytes()
    if ending in (".sqlite", ".sqlite3", ".db"):
        return sqlite(folder)
    if ending in (".json", ".jsonl", ".ndjson"):
        return LINES if ending != ".json" else b'[{"title": "Bread"}, {"title": "Salt"}]'
    return parquet() if ending in (".parquet", ".pq") else b"title\nBread\nSalt\n"


@pytest.mark.parametrize("spelling", [str.lower, str.upper])
@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_is_read_plain_and_packed_in_any_case(
    tmp_path: Path, ending: str, packing: str, spelling: type[str]
) -> None:
    path = tmp_path / spelling(f"a.b{ending}{packing}")
    path.write_bytes(PACKERS[packing](content_of(ending, tmp_path)))
    source = open_source(str(path))
    rows = list(source.iter_rows())
    assert [row.values for row in rows] == [{"title": "Bread"}, {"title": "Salt"}]
    assert [list(source.iter_rows(start=start)) for start in (1, 2, 9)] == [rows[1:], [], []]
    assert source.name.split("#")[0] == str(path.resolve())
    assert source.is_whole
    assert source.count_rows() in (2, None)


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_packed_file_that_is_cut_damaged_or_not_packed_is_refused_by_name(
    tmp_path: Path, ending: str, packing: str
) -> None:
    content = content_of(ending, tmp_path)
    packed = PACKERS[packing](content)
    path = tmp_path / f"a{ending}{packing}"
    middle = len(packed) // 2
    # Zstandard has no sum
    damaged = packed[:middle] + b"\xff" * 9 + packed[middle + 9 :] if packing == ".gz" else b""
    for broken in filter(None, (packed[:middle], packed[:-9], damaged, content)):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=rf"a{ending}{packing}: cannot be read"):
            list(open_source(str(path)).iter_rows())


@pytest.mark.parametrize("name", ["a.txt", "a.xlw", "a", "a.gz", "csv", ".csv", "a.csv.7z"])
def test_an_ending_that_is_not_known_is_refused_with_those_that_are(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"title\nBread\n")
    with pytest.raises(
        InputError, match=r"type; supported: \.json, .*\.db \(each also compressed: \.gz, \.zst\)"
    ):
        open_source(str(tmp_path / name))


def test_a_folder_is_a_source_of_its_documents(tmp_path: Path) -> None:
    (tmp_path / "bread.md").write_text("# Bread\n\nFlour and water.")
    assert [row.place for row in open_source(str(tmp_path)).iter_rows()] == ["bread.md"]
    with pytest.raises(InputError, match="--table is for SQLite files and spreadsheets only"):
        open_source(str(tmp_path), options=ReadOptions(table="t"))


@pytest.mark.parametrize(
    "name", ["nothing.csv", "no/such/folder.csv", "x" * 5_000 + ".csv", "a\0.csv"]
)
def test_a_file_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"no such file|cannot be read"):
        open_source(str(tmp_path / name))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (ReadOptions(table="t"), "--table is for SQLite files and spreadsheets only"),
        (ReadOptions(query="SELECT 1"), "--query is for SQLite files only"),
        (ReadOptions(records="a"), "--records is for JSON files only"),
        (ReadOptions(skip=-1), "--skip is -1; a number of lines from 0 to 1,000 is right"),
        (ReadOptions(header_rows=1_001), "--header-rows is 1001; a number of lines from 0"),
    ],
)
def test_an_option_that_means_nothing_for_a_file_is_refused(
    tmp_path: Path, options: ReadOptions, says: str
) -> None:
    (tmp_path / "a.csv").write_text("title\nBread\n")
    with pytest.raises(InputError, match=rf"a\.csv: {says}"):
        open_source(str(tmp_path / "a.csv"), options=options)


def test_a_provider_is_asked_first_and_takes_no_table(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"title": "Bread"}]')

    def open_provider(location: str, options: ReadOptions) -> RowSource | None:
        options.require_only((), location=location)
        return (
            JsonRows(Path(location.removeprefix("known:")))
            if location.startswith("known:")
            else None
        )

    assert open_source(f"known:{path}", open_provider=open_provider).name == str(path.resolve())
    with pytest.raises(InputError, match="--table is for SQLite files"):
        open_source(f"known:{path}", options=ReadOptions(table="t"), open_provider=open_provider)
    with pytest.raises(InputError, match="no such file"):
        open_source(f"other:{path}", open_provider=open_provider)


@pytest.mark.parametrize("location", ["~nobody-of-this-name/a.csv", "a" * 5_000])
@pytest.mark.parametrize("spec_name", ["documents", "judoka", "music"])
def test_what_can_be_no_path_is_refused_by_catalogues_that_read_files_in_their_own_way(
    spec_name: str, location: str
) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        open_rows(PACKAGES.get(spec_name), location)


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.parquet", "a.db", "a.ods"])
def test_a_compressed_file_is_bounded_by_what_it_unpacks_to(
    tmp_path: Path, name: str, packing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "UNPACKED_MB", 2)
    path = tmp_path / f"{name}{packing}"
    path.write_bytes(PACKERS[packing](b" " * 3_000_000))
    with pytest.raises(
        InputError, match="it unpacks to more than 2 MB; if it is meant to, unpack it first"
    ):
        list(open_source(str(path)).iter_rows())
