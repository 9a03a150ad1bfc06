"""Hostile statements against `debug.sql`: every one ends as it must, and nothing is changed, made,
leaked or slowed.
"""

import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from stackroom.admin.sql_process import MOST_ROWS, Reply, SqlQuery, Verdict
from stackroom.admin.sql_tool import SqlChildren
from stackroom.background.processes import list_children
from support.processes import wait_until

pytestmark = pytest.mark.row("Z10")

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "sql.json").read_text(encoding="utf-8")
)
OURS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "our_sql.json").read_text(encoding="utf-8")
)
PATIENCE_S = 60.0
SECRETS = ("hash-of-a-password", "hash-of-a-token")
GREEDY = "WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x+1 FROM c) SELECT max(x) FROM c"
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
PRINTF = "SELECT printf('%.*c', 1000000000, 'x')"


def sql_of(case: dict[str, Any]) -> str:
    """Return a case's statement; long ones are written as the expression that makes them."""
    generated: str = (
        eval(case["gen"], {"__builtins__": {}, "range": range}) if case.get("gen") else case["sql"]
    )
    return generated


ALL = [(case["id"], sql_of(case), case.get("accept", [case["expect"]])) for case in [*CASES, *OURS]]


@pytest.fixture(scope="module", autouse=True)
def _usual_priority() -> Iterator[None]:
    """The lowest priority gets no time at all beside other work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stackroom.admin.sql_tool.LOWEST_PRIORITY", 0)
        yield


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of the shape that the cases speak of."""
    path = tmp_path_factory.mktemp("hostile") / "items.sqlite"
    db = apsw.Connection(str(path))
    db.execute("""
        CREATE TABLE items (id TEXT PRIMARY KEY, title TEXT, year INT);
        CREATE VIRTUAL TABLE items_fts USING fts5(title, content='items');
        CREATE TABLE users (id INTEGER, name TEXT, password_hash TEXT);
        CREATE TABLE tokens (id INTEGER, token_hash TEXT);
        CREATE VIEW v_users AS SELECT * FROM users;
        INSERT INTO users VALUES (1, 'root', 'hash-of-a-password');
        INSERT INTO tokens VALUES (1, 'hash-of-a-token');
    """)
    with db:
        rows = [
            (f"i{number}", f"title {number} of an abecedary", 1900 + number % 120)
            for number in range(3000)
        ]
        db.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)
    db.execute("INSERT INTO items_fts (items_fts) VALUES ('rebuild')")
    db.close()
    return path


@pytest.fixture(scope="module")
def children() -> SqlChildren:
    """The processes that statements run in, with time to start on a busy machine."""
    return SqlChildren(answer_s=PATIENCE_S)


def question(path: Path, sql: str, **more: Any) -> SqlQuery:
    return SqlQuery(path=str(path), sql=sql, tables=("items", "items_fts"), **more)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files(folder: Path) -> set[Path]:
    return set(folder.iterdir())


def ended_as(reply: Reply, accepted: list[str]) -> bool:
    bounded = reply.verdict is Verdict.OK and len(reply.rows) <= MOST_ROWS
    return reply.verdict in accepted or (bounded and "ok_bounded" in accepted)


def test_the_list_of_hostile_statements_is_whole() -> None:
    assert len(CASES) == 92


@pytest.mark.parametrize(("name", "sql", "accepted"), ALL, ids=[name for name, _, _ in ALL])
def test_a_hostile_statement_ends_as_it_must_and_leaves_no_trace(
    name: str, sql: str, accepted: list[str], database: Path, children: SqlChildren
) -> None:
    before, beside, in_tmp = digest(database), files(database.parent), files(Path("/tmp"))
    # what has no end is ended sooner than what is to have one
    time_s = 0.3 if Verdict.TIMEOUT in accepted else 1.0
    reply = children.ask(question(database, sql, time_s=time_s))
    assert ended_as(reply, accepted), reply
    assert digest(database) == before
    assert files(database.parent) == beside
    assert not [path for path in files(Path("/tmp")) - in_tmp if path.name.startswith("hostile")]
    whole = json.dumps(reply._asdict(), allow_nan=False)
    assert not [secret for secret in SECRETS if secret in whole]
    assert str(database) not in whole


def test_opening_the_file_read_only_is_not_enough(database: Path, tmp_path: Path) -> None:
    """The control: with `mode=ro` alone, statements that must be refused run, make files and give
    secrets away.
    """
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(database.read_bytes())
    ran = []
    for case in CASES:
        if case["expect"] != "denied" or "/tmp" in case["sql"]:
            continue
        db = apsw.Connection(
            f"file:{copy}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        try:
            db.execute(case["sql"]).fetchall()
            ran.append(case["id"])
        except apsw.Error:
            pass
        finally:
            db.close()
    assert len(ran) >= 20
    db = apsw.Connection(
        f"file:{copy}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    db.execute("VACUUM INTO ?", (str(tmp_path / "made.sqlite"),))
    assert (tmp_path / "made.sqlite").is_file()
    assert SECRETS[0] in str(db.execute("SELECT * FROM v_users").fetchall())
    db.close()


def test_a_process_that_does_not_answer_is_killed_and_the_next_statement_has_a_new_one(
    database: Path,
) -> None:
    """The control of the kill: this child has no guard at all, and does not even listen."""
    deaf = SqlChildren(command=(sys.executable, "-c", "import time; time.sleep(60)"))
    reply = deaf.ask(question(database, "SELECT 1"))
    assert reply.verdict is Verdict.TIMEOUT
    assert deaf.ask(question(database, "SELECT 1")).verdict is Verdict.TIMEOUT


def test_without_the_authorizer_it_is_the_other_guards_that_end_a_bomb_in_one_opcode(
    database: Path,
) -> None:
    loosened = (
        "import stackroom.admin.sql_process as guard; guard.FUNCTIONS |= {'printf', 'zeroblob',"
        " 'randomblob'}; guard.main()"
    )
    children = SqlChildren(command=(sys.executable, "-P", "-c", loosened))
    for sql in (PRINTF, "SELECT randomblob(1000000000)", "SELECT length(hex(zeroblob(999999)))"):
        assert children.ask(question(database, sql)).verdict in {Verdict.LIMIT, Verdict.TIMEOUT}


def test_a_process_that_dies_in_the_middle_is_said_to_have_used_too_much(database: Path) -> None:
    mortal = SqlChildren(
        command=(sys.executable, "-c", "import os, sys; sys.stdin.readline(); os.abort()")
    )
    assert mortal.ask(question(database, "SELECT 1")).verdict is Verdict.LIMIT


def test_a_process_that_talks_nonsense_is_not_believed(database: Path) -> None:
    code = (
        'import sys; sys.stdin.readline(); print(\'{"verdict": "perfect"}\', flush=True);'
        " sys.stdin.readline()"
    )
    liar = SqlChildren(command=(sys.executable, "-c", code))
    assert liar.ask(question(database, "SELECT 1")).verdict is Verdict.LIMIT


def test_a_statement_that_takes_all_memory_is_ended(database: Path, children: SqlChildren) -> None:
    reply = children.ask(question(database, GREEDY))
    assert reply.verdict in {Verdict.LIMIT, Verdict.TIMEOUT}
    assert children.ask(question(database, "SELECT 1")).rows == [[1]]


@pytest.mark.skipif(not Path("/proc/self/limits").is_file(), reason="needs Linux's /proc")
def test_the_process_has_nothing_of_the_server(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "STACKROOM_CONTROL_URL", "postgresql://somebody:secret-of-the-server@db/stackroom"
    )
    monkeypatch.setattr("stackroom.admin.sql_tool.LOWEST_PRIORITY", 19)
    children, others = SqlChildren(answer_s=PATIENCE_S), set(list_children())
    counting = question(
        database, ENDLESS.replace("SELECT x FROM c", "SELECT count(*) FROM c"), time_s=60.0
    )
    with database.open("rb"):
        asking = threading.Thread(target=children.ask, args=(counting,))
        asking.start()
        wait_until(lambda: bool(set(list_children()) - others), timeout_s=120)
        ((_name, pid),) = set(list_children()) - others
        process = Path(f"/proc/{pid}")
        wait_until(
            lambda: "Max file size             0  " in (process / "limits").read_text(),
            timeout_s=120,
        )
        targets = {
            path.name: str(path.readlink())
            for path in (process / "fd").iterdir()
            if path.name in "012"
        }
        assert set(targets) == {"0", "1", "2"}
        assert "secret-of-the-server" not in (process / "environ").read_text()
        limits = (process / "limits").read_text()
        # its priority
        assert process.joinpath("stat").read_text().rpartition(")")[2].split()[16] == "19"
        assert "Max core file size        0                    0" in limits
        asking.join()
    assert not process.exists()
