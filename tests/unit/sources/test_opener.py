"""Which source a location names, and what is said of those that name none."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from arro3.core import Array, DataType, Table
from arro3.io import write_parquet

from stackroom.assembly.locations import open_rows
from stackroom.errors import InputError
from stackroom.packages import PACKAGES
from stackroom.sources import compressed
from stackroom.sources.json_rows import JsonRows
from stackroom.sources.location import ReadOptions
from stackroom.sources.opener import ENDINGS, JSON, SHEET, SQLITE, open_source
from stackroom.sources.port import RowSource, TableSource, notes_of
from stackroom.zstd import zstd
from support.spreadsheets import write_ods, write_xlsx

pytestmark = pytest.mark.row("N1")

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstd.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def parquet() -> bytes:
    file = io.BytesIO()
    write_parquet(Table.from_pydict({"title": Array(["Bread"], DataType.string())}), file)
    return file.getvalue()


def sqlite(folder: Path) -> bytes:
    path = folder / "made"
    with closing(apsw.Connection(str(path))) as db:
        db.execute("CREATE TABLE t (title TEXT); INSERT INTO t VALUES ('Bread')")
    return path.read_bytes()


def content_of(ending: str, folder: Path) -> bytes:
    if ENDINGS[ending] is SHEET:
        write = write_ods if ending == ".ods" else write_xlsx
        return write(folder / "made", {"a": [["title"], ["Bread"]]}).read_bytes()
    if ENDINGS[ending] is SQLITE:
        return sqlite(folder)
    if ENDINGS[ending] is JSON:
        return b'{"title": "Bread"}\n' if "l" in ending or "nd" in ending else b'[{"title": "Bread"}]'
    return parquet() if ending in (".parquet", ".pq") else b"title\nBread\n"


@pytest.mark.parametrize("spelling", [str.lower, str.upper])
@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_is_read_plain_and_packed_in_any_case(
    tmp_path: Path, ending: str, packing: str, spelling: type[str]
) -> None:
    path = tmp_path / spelling(f"a.b{ending}{packing}")
    path.write_bytes(PACKERS[packing](content_of(ending, tmp_path)))
    source = open_source(str(path))
    assert [row.values for row in source.iter_rows()] == [{"title": "Bread"}]
    assert source.name.split("#")[0] == str(path.resolve())
    assert source.is_whole


@pytest.mark.parametrize("name", ["a.txt", "a.xls", "a", "a.gz", "csv", ".csv", "a.csv.7z"])
def test_an_ending_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"title\nBread\n")
    with pytest.raises(
        InputError,
        match=r"type; supported: \.json, .*\.db \(each also compressed: \.gz, \.zst, \.bz2, \.xz, or in \.zip\)",
    ):
        open_source(str(tmp_path / name))


def test_a_folder_is_a_source_of_its_documents(tmp_path: Path) -> None:
    (tmp_path / "bread.md").write_text("# Bread\n\nFlour and water.")
    assert [row.place for row in open_source(str(tmp_path)).iter_rows()] == ["bread.md"]
    with pytest.raises(InputError, match="--table is for SQLite files, databases and spreadsheets only"):
        open_source(str(tmp_path), options=ReadOptions(table="t"))


@pytest.mark.parametrize("name", ["nothing.csv", "no/such/folder.csv", "x" * 5_000 + ".csv", "a\0.csv"])
def test_a_file_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"no such file|cannot be read"):
        open_source(str(tmp_path / name))


def test_the_home_of_nobody_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot be read|no such file"):
        open_source("~nobody-of-this-name/a.csv")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (ReadOptions(table="t"), "--table is for SQLite files, databases and spreadsheets only"),
        (ReadOptions(query="SELECT 1"), "--query is for SQLite files and databases only"),
        (ReadOptions(sheet="1"), r"--sheet is for spreadsheets \(.xlsx, .ods\) only"),
        (ReadOptions(records="a"), "--records is for JSON files only"),
        (ReadOptions(skip=-1), "--skip is -1; a number of lines from 0 to 1,000 is right"),
        (ReadOptions(header_rows=1_001), "--header-rows is 1001; a number of lines from 0"),
    ],
)
def test_an_option_that_means_nothing_for_a_file_is_refused(tmp_path: Path, options: ReadOptions, says: str) -> None:
    (tmp_path / "a.csv").write_text("title\nBread\n")
    with pytest.raises(InputError, match=rf"a\.csv: {says}"):
        open_source(str(tmp_path / "a.csv"), options=options)


def test_a_table_or_a_query_is_handed_to_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(sqlite(tmp_path))
    assert open_source(str(path), options=ReadOptions(table="T")).name.endswith("#t")
    query = ReadOptions(query="SELECT upper(title) AS loud FROM t")
    (row,) = open_source(str(path), options=query).iter_rows()
    assert row.values == {"loud": "BREAD"}


def test_a_provider_is_asked_first_and_takes_no_table(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"title": "Bread"}]')

    def open_provider(location: str, options: ReadOptions) -> RowSource | None:
        options.require_only((), location=location)
        return JsonRows(Path(location.removeprefix("known:"))) if location.startswith("known:") else None

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


@pytest.mark.parametrize("packing", [one for one in PACKERS if one])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.parquet", "a.db", "a.ods"])
def test_a_compressed_file_is_bounded_by_what_it_unpacks_to(tmp_path: Path, name: str, packing: str) -> None:
    path = tmp_path / f"{name}{packing}"
    path.write_bytes(PACKERS[packing](b" " * 3_000_000))
    with pytest.raises(InputError, match=r"it unpacks to more than 2 MB; if it is meant to, .*: --max-unpacked-mb"):
        list(open_source(str(path), options=ReadOptions(max_unpacked_mb=2)).iter_rows())


def test_the_limit_can_be_raised_and_is_part_of_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "UNPACKED_MB", 1)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"title\n" + b"Bread\n" * 500_000))
    with pytest.raises(InputError, match="it unpacks to more than 1 MB"):
        list(open_source(str(path)).iter_rows())
    source = open_source(str(path), options=ReadOptions(max_unpacked_mb=5))
    assert source.name == f"{path}#?max_unpacked_mb=5"
    assert open_source(source.name).count_rows() == 500_000
    with pytest.raises(InputError, match="--max-unpacked-mb is 0; a number from 1 is right"):
        open_source(str(path), options=ReadOptions(max_unpacked_mb=0))


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_the_table_in_an_archive_is_read(tmp_path: Path) -> None:
    members = {
        "films/readme.txt": b"hello",
        "__MACOSX/films/._films.csv": b"x,y\n",
        "films/films.csv": b"title\nHeat\n",
    }
    source = open_source(str(zipped(tmp_path / "films.zip", members)))
    assert [row.values for row in source.iter_rows()] == [{"title": "Heat"}]
    assert source.name == str(tmp_path / "films.zip")
    assert notes_of(source) == ("read from the archive: films/films.csv",)


def test_the_largest_table_of_an_archive_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    members = {"towns.csv": b"town\nUlm\n", "films.json": b'[{"title": "Heat"}, {"title": "Alien"}]'}
    path = zipped(tmp_path / "all.zip", members)
    source = open_source(str(path))
    assert (source.name, source.count_rows()) == (f"{path}#films.json", None)
    assert isinstance(source, TableSource)
    assert (source.other_tables, source.table_option) == (("towns.csv",), "--table")
    towns = open_source(str(path), options=ReadOptions(table="towns", skip=0))
    assert [row.values for row in towns.iter_rows()] == [{"town": "Ulm"}]
    assert towns.name == f"{path}#towns.csv?skip=0"
    assert list(open_source(towns.name).iter_rows()) == list(towns.iter_rows())
    with pytest.raises(InputError, match=r"no table 'town' \(did you mean 'towns.csv'\?\); in the archive: towns.csv"):
        open_source(str(path), options=ReadOptions(table="town"))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and then nothing"])
def test_a_damaged_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.zip: cannot be read as an archive"):
        open_source(str(path))
    with pytest.raises(InputError, match="no table in the archive"):
        open_source(str(zipped(path, {"a.txt": b"x"})))
    with pytest.raises(InputError, match="it unpacks to more than 1 MB"):
        open_source(str(zipped(path, {"a.csv": b" " * 2_000_000})), options=ReadOptions(max_unpacked_mb=1))
