"""Files whose contents want to take all memory, time or disk, and a process that adds each under
limits.

    PYTHONPATH=tests .venv/bin/python -m support.hostile_contents FOLDER

writes every file into the folder, runs `stackroom add` on each in a process of its own, and prints
a line of JSON for each: how it ended, what it said, and how much memory, processor time and disk it
took.
"""

import contextlib
import io
import json
import os
import resource
import struct
import sys
import traceback
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import apsw
import pyarrow
import pyarrow.parquet

from stackroom.cli.main import main as run_command
from stackroom.sources import sqlite_rows
from stackroom.zstd import zstd

MEGABYTE = 1 << 20
MOST_MEMORY = 3 << 30
"""The memory of a process, so that a file that is not bounded harms nobody else."""
MOST_CPU_S = 120

XLSX_PARTS = {
    "[Content_Types].xml": (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default'
        ' Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default'
        ' Extension="xml" ContentType="application/xml"/></Types>'
    ),
    "_rels/.rels": (
        "<Relationships"
        ' xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship'
        ' Id="r1"'
        ' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"'
        ' Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
        ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet'
        ' name="a" sheetId="1" r:id="r1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        "<Relationships"
        ' xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship'
        ' Id="r1"'
        ' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"'
        ' Target="worksheets/sheet1.xml"/><Relationship Id="r2"'
        ' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"'
        ' Target="sharedStrings.xml"/></Relationships>'
    ),
}
SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
ODS = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
    '<office:body><office:spreadsheet><table:table table:name="a">'
    '<table:table-row table:number-rows-repeated="{}">'
    '<table:table-cell table:number-columns-repeated="{}"'
    ' office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    "</table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
)
ENDLESS = (
    "CREATE VIEW people AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x"
    " FROM c"
)


def repeated_deflate(block: bytes, times: int) -> bytes:
    """Return a raw deflate stream of many equal blocks, which is made of one."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    part = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return part * times + packer.flush()


def write_zip(
    path: Path, bomb: str, block: bytes, times: int, parts: dict[str, str], *, stated: int = 0
) -> None:
    """Write an archive with a part that unpacks to many equal blocks; its size is stated as it is,
    or as less.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
        stream, entry = repeated_deflate(block, times), zipfile.ZipInfo(bomb)
        entry.compress_type, entry.header_offset = zipfile.ZIP_DEFLATED, archive.fp.tell()  # type: ignore[union-attr]
        entry.CRC, entry.compress_size, entry.file_size = (
            0,
            len(stream),
            stated or len(block) * times,
        )
        archive.fp.write(entry.FileHeader(zip64=False) + stream)  # type: ignore[union-attr]
        archive.start_dir = archive.fp.tell()  # type: ignore[union-attr]
        archive.filelist.append(entry)
        archive._didModify = True  # type: ignore[attr-defined]


def _xlsx(sheet: str, strings: str = "<sst/>") -> dict[str, str]:
    return {**XLSX_PARTS, "xl/sharedStrings.xml": strings, "xl/worksheets/sheet1.xml": sheet}


def _write_parts(path: Path, parts: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text, zipfile.ZIP_STORED if name == "mimetype" else None)


def sheet_bomb(path: Path) -> None:
    """A sheet that unpacks to two gigabytes."""
    parts = {name: text for name, text in _xlsx("").items() if "sheet1" not in name}
    write_zip(path, "xl/worksheets/sheet1.xml", b" " * MEGABYTE, 2_000, parts)


def strings_bomb(path: Path) -> None:
    """Shared strings that unpack to two gigabytes, and say they are a few bytes."""
    parts = {
        name: text for name, text in _xlsx(SHEET.format("")).items() if "sharedStrings" not in name
    }
    write_zip(path, "xl/sharedStrings.xml", b"<si><t>x</t></si>" * 60_000, 2_000, parts, stated=900)


def far_cell(path: Path) -> None:
    """Two cells, the second in the last row and column of a sheet."""
    cells = (
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c'
        ' r="XFD1048576"><v>2</v></c></row>'
    )
    _write_parts(path, _xlsx(SHEET.format(cells)))


def far_row(path: Path) -> None:
    """Two cells, the second so far away that the sheet is just below the limit of cells."""
    cells = (
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="1000000"><c'
        ' r="AW1000000"><v>2</v></c></row>'
    )
    _write_parts(path, _xlsx(SHEET.format(cells)))


def laughing_sheet(path: Path) -> None:
    """A sheet whose entities stand for ten to the ninth."""
    text = SHEET.format('<row r="1"><c r="A1" t="inlineStr"><is><t>&l9;</t></is></c></row>')
    _write_parts(path, _xlsx(f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]>{text}'))


def repeated_cells(
    path: Path, *, rows: int = 1_048_576, columns: int = 16_384, text: str = "x"
) -> None:
    """A spreadsheet of one cell, that is repeated in every row and column."""
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    content = ODS.format(rows, columns, text)
    _write_parts(
        path, {"mimetype": kind, "META-INF/manifest.xml": manifest, "content.xml": content}
    )


def repeated_text(path: Path) -> None:
    """A cell of 30 kilobytes, repeated within the limits of cells."""
    repeated_cells(path, rows=1_000, columns=900, text="x" * 30_000)


def gzip_bomb(path: Path) -> None:
    """Two gigabytes of zeros, as members that are unpacked one after another."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    path.write_bytes((packer.compress(bytes(20 * MEGABYTE)) + packer.flush()) * 100)


def zstd_bomb(path: Path) -> None:
    """Four gigabytes of JSON lines."""
    frame = zstd.compress((b'{"a":"' + b"x" * 65_000 + b'"}\n') * 1_000)
    path.write_bytes(frame * 64)


def deep_json(path: Path) -> None:
    """Half a million brackets."""
    path.write_text("[" * 500_000)


def deep_object(path: Path) -> None:
    """A record that is nested a hundred thousand times, closed properly."""
    path.write_text('{"rows": [{"a": ' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}]}")


def long_line(path: Path) -> None:
    """A line of JSON of 80 megabytes."""
    path.write_text('{"name": "' + "x" * (80 * MEGABYTE) + '"}\n')


def many_objects(path: Path) -> None:
    """Eight million objects of two characters."""
    path.write_text("[" + "{}," * 8_000_000 + "{}]")


def wide_parquet(path: Path) -> None:
    """Twenty thousand rows of one text of 100 kilobytes, which is in the file once."""
    words = pyarrow.array(["x" * 100_000])
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(bytes(20_000), pyarrow.int8()), words
    )
    pyarrow.parquet.write_table(pyarrow.table({"name": column}), path, compression="zstd")


def lying_parquet(path: Path) -> None:
    """A footer that is as long as a file can state."""
    path.write_bytes(b"PAR1" + bytes(100) + struct.pack("<I", 0xFFFFFFFF) + b"PAR1")


def endless_sqlite(path: Path) -> None:
    """A view whose rows never end."""
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute(ENDLESS)


def huge_cells(path: Path) -> None:
    """Cells that stand for 900 megabytes each, computed by a view."""
    with contextlib.closing(apsw.Connection(str(path))) as db:
        cell = "hex(zeroblob(450000000)) AS text"
        db.execute(
            f"CREATE VIEW people AS SELECT 1 AS a, {cell} UNION ALL SELECT 2, {cell} UNION ALL"
            f" SELECT 3, {cell}"
        )


def giant_cell(path: Path) -> None:
    """A cell of 70 megabytes over many lines."""
    path.write_text('name,text\nA,"' + ("x" * 99_999 + "\n") * 700 + '"\n')


def open_quote(path: Path) -> None:
    """A quotation mark that is never closed, before four thousand lines."""
    path.write_text('name,text\n"A,1\n' + "B,2\n" * 4_000)


def nothing_but_nuls(path: Path) -> None:
    """Twenty megabytes of NUL."""
    path.write_bytes(bytes(20 * MEGABYTE))


def too_wide(path: Path) -> None:
    """A table of a hundred thousand columns."""
    path.write_text(
        ",".join(f"c{n}" for n in range(100_000)) + "\n" + ",".join("1" * 100_000) + "\n"
    )


def pdf_bomb(folder: Path) -> None:
    """A document whose page unpacks to a gigabyte."""
    folder.mkdir()
    packer = zlib.compressobj(9)
    stream = packer.compress(b"") + (packer.flush(zlib.Z_SYNC_FLUSH))
    block = packer.compress(b" " * MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    stream += block * 1_000
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(stream), stream),
    ]
    content, places = io.BytesIO(b"%PDF-1.4\n"), []
    content.seek(0, io.SEEK_END)
    for number, text in enumerate(objects, start=1):
        places.append(content.tell())
        content.write(b"%d 0 obj\n%s\nendobj\n" % (number, text))
    start = content.tell()
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    content.write(b"xref\n0 5\n0000000000 65535 f \n" + table + b"trailer<</Size 5/Root 1 0 R>>\n")
    content.write(b"startxref\n%d\n%%%%EOF" % start)
    (folder / "a.pdf").write_bytes(content.getvalue())
    (folder / "b.md").write_text("# A note\n\nThis one can be read.\n")


def docx_bomb(folder: Path) -> None:
    """A document of twenty million elements."""
    folder.mkdir()
    write_zip(folder / "a.docx", "word/document.xml", b"<w:p/>" * 30_000, 1_000, {"x.xml": "<x/>"})
    (folder / "b.md").write_text("# A note\n\nThis one can be read.\n")


CONTENTS: dict[str, Callable[[Path], None]] = {
    "sheet.xlsx": sheet_bomb,
    "strings.xlsx": strings_bomb,
    "far.xlsx": far_cell,
    "tall.xlsx": far_row,
    "laughs.xlsx": laughing_sheet,
    "repeated.ods": repeated_cells,
    "text.ods": repeated_text,
    "zeros.csv.gz": gzip_bomb,
    "lines.jsonl.zst": zstd_bomb,
    "deep.json": deep_json,
    "nested.json": deep_object,
    "line.jsonl": long_line,
    "objects.json": many_objects,
    "wide.parquet": wide_parquet,
    "footer.parquet": lying_parquet,
    "endless.sqlite": endless_sqlite,
    "cells.sqlite": huge_cells,
    "cell.csv": giant_cell,
    "quote.csv": open_quote,
    "nuls.csv": nothing_but_nuls,
    "wide.csv": too_wide,
    "pdf": pdf_bomb,
    "docx": docx_bomb,
}
"""Name of a file or folder → the function that writes it."""


def add_in_process(path: Path, home: Path) -> dict[str, object]:
    """Run `stackroom add` in a process that is forked from this one; return how it ended and what
    it took.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _add(path, home, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as output:
        said = output.read()
    _pid, status, used = os.wait4(child, 0)
    disk = sum(file.stat().st_size for file in home.rglob("*") if file.is_file())
    return {
        "name": path.name,
        "code": os.waitstatus_to_exitcode(status),
        "said": said[-2_000:],
        "memory_mb": used.ru_maxrss // 1024,
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "disk_mb": disk // MEGABYTE,
    }


def _add(path: Path, home: Path, writer: int) -> None:
    os.dup2(writer, 1)
    os.dup2(writer, 2)
    os.environ.update({"STACKROOM_HOME": str(home), "STACKROOM_OFFLINE": "1"})
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
    sqlite_rows.STEPS //= 20  # as long as a test may take to see that there is a bound
    code = 99
    try:
        run_command(["add", str(path), "--yes", "--no-embed"])
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(folder: Path, names: list[str]) -> None:
    """Write and add every file, or those that are named."""
    for name, write in CONTENTS.items():
        if names and name not in names:
            continue
        path = folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)
        print(
            json.dumps(add_in_process(path, folder / "homes" / name.replace(".", "-"))), flush=True
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
