"""What changes a shared server: accounts, jobs, catalogues, uploaded tables; and what it notes."""

import json
import time
from typing import Any
from urllib.parse import quote

from golden_answers.clients import Http
from golden_answers.listening_scenes import (
    record_downloads,
    record_listening,
    record_subsonic,
)
from golden_answers.questions import Ask
from golden_answers.recorder import Recorder, wait_until
from golden_answers.served import PASSWORD, Served


def record_changes(recorder: Recorder, served: Served) -> None:
    """Record what changes a shared server."""
    for scene in (
        record_accounts,
        record_sessions,
        record_administration_over_mcp,
        record_jobs,
        record_listening,
        record_subsonic,
        record_downloads,
        record_catalogues,
        record_uploads,
        record_reports,
    ):
        recorder.attempt(scene, served)


ACCOUNT_REQUESTS: tuple[tuple[str, str, str, Any], ...] = (
    ("ada", "GET", "/v1/users", None),
    ("ada", "GET", "/v1/users?limit=2&offset=1", None),
    ("ada", "GET", "/v1/users/rita", None),
    ("ada", "GET", "/v1/users/nothing", None),
    ("ada", "POST", "/v1/users", {"name": "tom", "role": ["user"]}),
    ("ada", "POST", "/v1/users", {"name": "tom", "role": ["user"]}),
    ("ada", "POST", "/v1/users", {"name": "tim", "password": "password"}),
    ("ada", "POST", "/v1/users", {"name": "tim", "role": ["king"]}),
    ("ada", "POST", "/v1/users", {"name": "tim", "pasword": "a secret of mine"}),
    ("ada", "POST", "/v1/users", {"name": "../tim"}),
    ("ada", "POST", "/v1/users", {}),
    ("mona", "POST", "/v1/users", {"name": "tim", "role": ["admin"]}),
    ("mona", "POST", "/v1/users", {"name": "mia", "role": ["user"], "catalogues": ["anime"]}),
    ("rita", "POST", "/v1/users", {"name": "tim"}),
    ("mona", "PUT", "/v1/users/ada/password", {}),
    ("ada", "PUT", "/v1/users/tom/password", {"revoke_tokens": True}),
    ("ada", "PUT", "/v1/users/tom/password", {"password": "12345678"}),
    ("ada", "PUT", "/v1/users/tom/roles", {"role": ["editor", "user"]}),
    ("ada", "PUT", "/v1/users/tom/roles", {"role": ["king"]}),
    ("ada", "PUT", "/v1/users/ada/roles", {"role": ["none"]}),
    ("mona", "PUT", "/v1/users/tom/roles", {"role": ["admin"]}),
    ("ada", "PUT", "/v1/users/tom/catalogues", {"catalogues": ["anime", "wines"]}),
    ("ada", "PUT", "/v1/users/tom/catalogues", {"catalogues": ["all"]}),
    ("ada", "PUT", "/v1/users/tom/catalogues", {"catalogues": ["nothing"]}),
    ("ada", "POST", "/v1/users/tom/grants", {"permission": ["ViewAnalytics"]}),
    ("ada", "POST", "/v1/users/tom/grants", {"permission": ["Everything"]}),
    ("ada", "POST", "/v1/users/tom/revocations", {"permission": ["ViewAnalytics"]}),
    ("mona", "POST", "/v1/users/tom/grants", {"permission": ["ServerAdmin"]}),
    ("ada", "POST", "/v1/users/rita/disable", None),
    ("rita", "GET", "/v1/me", None),
    ("ada", "POST", "/v1/users/rita/enable", None),
    ("rita", "GET", "/v1/me", None),
    ("ada", "POST", "/v1/users/ada/disable", None),
    ("ada", "DELETE", "/v1/users/tom", None),
    ("ada", "DELETE", "/v1/users/tom", None),
    ("ada", "DELETE", "/v1/users/ada", None),
    ("ada", "GET", "/v1/roles", None),
    (
        "ada",
        "POST",
        "/v1/roles",
        {"name": "reader", "permissions": ["AccessCatalog"], "quotas": {"read": 50}},
    ),
    ("ada", "POST", "/v1/roles", {"name": "reader", "permissions": ["AccessCatalog"]}),
    ("ada", "POST", "/v1/roles/reader", {"quotas": {"write": 5}, "catalogues": ["wines"]}),
    ("ada", "POST", "/v1/roles/reader", {}),
    ("ada", "POST", "/v1/roles/admin", {"permissions": ["AccessCatalog"]}),
    ("mona", "POST", "/v1/roles", {"name": "kings", "permissions": ["ServerAdmin"]}),
    ("ada", "DELETE", "/v1/roles/reader", None),
    ("ada", "DELETE", "/v1/roles/slow", None),
    ("ada", "DELETE", "/v1/roles/admin", None),
    ("ada", "GET", "/v1/tokens?limit=3", None),
    ("ada", "GET", "/v1/tokens?user=rita", None),
    ("rita", "GET", "/v1/tokens", None),
    (
        "rita",
        "POST",
        "/v1/tokens",
        {"name": "phone", "scopes": ["AccessCatalog"], "expires": "never"},
    ),
    (
        "rita",
        "POST",
        "/v1/tokens",
        {"name": "phone", "scopes": ["AccessCatalog"], "expires": "12h"},
    ),
    ("rita", "POST", "/v1/tokens", {"name": "phone", "scopes": ["ServerAdmin"], "expires": "12h"}),
    ("rita", "POST", "/v1/tokens", {"name": "phone", "catalogues": ["personal"]}),
    ("rita", "POST", "/v1/tokens", {"name": "phone", "expires": "soon"}),
    ("rita", "POST", "/v1/tokens", {"name": "phone", "user": "ada", "expires": "12h"}),
    ("ada", "DELETE", "/v1/tokens/0123456789ab", None),
    ("ada", "GET", "/v1/access", None),
    ("ada", "PUT", "/v1/access/wines", {"users": ["rita"], "roles": []}),
    ("eddie", "GET", "/v1/player?list=genres", None),
    ("ada", "PUT", "/v1/access/wines", {"users": ["nothing"]}),
    ("ada", "PUT", "/v1/access/nothing", {"users": ["rita"]}),
    ("mona", "PUT", "/v1/access/anime", {"users": ["mona"]}),
    ("mona", "DELETE", "/v1/access/personal", None),
    ("ada", "DELETE", "/v1/access/anime", None),
    ("ada", "DELETE", "/v1/access/wines", None),
    ("ada", "DELETE", "/v1/access/wines", None),
)


def record_accounts(recorder: Recorder, served: Served) -> None:
    """Record accounts over REST; the token that one makes is revoked."""
    made: list[str] = []
    for who, method, path, body in ACCOUNT_REQUESTS:
        answer = recorder.request(served.rest(who), who, method, path, body)
        if (method, path) == ("POST", "/v1/tokens") and "id" in answer:
            made.append(answer["id"])
        if path == "/v1/access/wines":
            for other in ("rita", "eddie"):
                ask = Ask("search", {"query": "lime", "catalogue": "wines", "limit": 1})
                recorder.ask_rest(served.rest(other), other, ask)
    for number, one in enumerate(made):
        status, _, content = served.rest("rita").request("DELETE", f"/v1/tokens/{one}")
        recorder.note(
            "rest",
            "rita",
            "DELETE /v1/tokens/{id}",
            {"number": number},
            {"status": status, "body": content.decode()},
        )


def record_sessions(recorder: Recorder, served: Served) -> None:
    """Record logging in and out, and choosing a password."""
    stranger = Http(served.port)
    for body in (
        {"name": "rita", "password": PASSWORD},
        {"name": "rita", "password": "wrong"},
        {"name": "nothing", "password": "wrong"},
        {"name": "rita"},
        {"name": "", "password": ""},
    ):
        answer = recorder.request(stranger, "nobody known", "POST", "/v1/login", body)
        if isinstance(answer, dict) and "token" in answer:
            served.secrets["rita's session"] = answer["token"]
    who = "rita's session"
    rest = served.rest(who)
    recorder.request(rest, who, "GET", "/v1/me")
    recorder.request(rest, who, "GET", "/v1/tokens?sessions=true")
    recorder.request(rest, who, "POST", "/v1/me/password", {"password": "short"})
    recorder.request(rest, who, "POST", "/v1/me/password", {"password": f"{PASSWORD}-2"})
    recorder.request(
        rest,
        who,
        "POST",
        "/v1/me/password",
        {"password": f"{PASSWORD}-2", "current_password": "wrong"},
    )
    body = {"password": f"{PASSWORD}-2", "current_password": PASSWORD}
    answer = recorder.request(rest, who, "POST", "/v1/me/password", body)
    recorder.request(rest, who, "GET", "/v1/me")
    again = Http(served.port, answer["token"])
    recorder.request(again, "rita's second session", "POST", "/v1/logout")
    recorder.request(again, "rita's second session", "GET", "/v1/me")
    recorder.request(served.rest("rita"), "rita", "POST", "/v1/logout")
    made = served.rest("ada").request("POST", "/v1/users", body={"name": "otto", "role": ["user"]})[
        2
    ]
    password = json.loads(made)["one_time_password"]
    recorder.mask.learn(password, "a secret")
    answer = recorder.request(
        stranger, "nobody known", "POST", "/v1/login", {"name": "otto", "password": password}
    )
    once = Http(served.port, answer["token"])
    recorder.request(once, "otto, once", "GET", "/v1/me")
    recorder.request(once, "otto, once", "GET", "/v1/tools")
    recorder.request(once, "otto, once", "POST", "/v1/me/password", {"password": PASSWORD})
    recorder.request(
        stranger, "nobody known", "POST", "/v1/login", {"name": "otto", "password": password}
    )
    for one in (stranger, again, once):
        one.close()


ADMINISTRATION = (
    Ask("users.query", {"query_type": "list", "limit": 3}, 2),
    Ask("users.query", {"query_type": "get", "name": "rita"}),
    Ask("users.query", {"query_type": "get"}),
    Ask("users.query", {"query_type": "roles"}),
    Ask("users.mutate", {"action": "create", "name": "uma", "role": "user"}),
    Ask("users.mutate", {"action": "create", "name": "uma", "role": "user"}),
    Ask("users.mutate", {"action": "create", "name": "ulf", "pasword": "a secret of mine"}),
    Ask("users.mutate", {"action": "grant", "name": "uma", "permission": "ViewAnalytics"}),
    Ask("users.mutate", {"action": "revoke", "name": "uma", "permission": "ViewAnalytics"}),
    Ask("users.mutate", {"action": "grant", "name": "uma"}),
    Ask("users.mutate", {"action": "set_role", "name": "uma", "role": ["editor"]}),
    Ask("users.mutate", {"action": "set_catalogues", "name": "uma", "catalogues": ["anime"]}),
    Ask("users.mutate", {"action": "reset_password", "name": "uma"}),
    Ask("users.mutate", {"action": "end_sessions", "name": "uma"}),
    Ask("users.mutate", {"action": "disable", "name": "uma"}),
    Ask("users.mutate", {"action": "enable", "name": "uma"}),
    Ask("users.mutate", {"action": "delete", "name": "uma"}),
    Ask("users.mutate", {"action": "delete", "name": "uma"}),
    Ask(
        "users.mutate",
        {
            "action": "create_role",
            "name": "seers",
            "permissions": ["AccessCatalog"],
            "quotas": {"read": 9},
        },
    ),
    Ask("users.mutate", {"action": "update_role", "name": "seers", "quotas": {}}),
    Ask("users.mutate", {"action": "delete_role", "name": "seers"}),
    Ask("users.mutate", {"action": "crown", "name": "rita"}),
    Ask("jobs.query", {"query_type": "list"}),
    Ask("jobs.query", {"query_type": "list", "limit": 2}, 2),
    Ask("jobs.query", {"query_type": "get"}),
    Ask("jobs.query", {"query_type": "get", "job_id": "nothing"}),
    Ask("jobs.action", {"action": "schedule", "job_id": "backup", "schedule": "30 2 * * *"}),
    Ask("jobs.action", {"action": "schedule", "job_id": "backup", "schedule": "often"}),
    Ask("jobs.action", {"action": "disable", "job_id": "backup"}),
    Ask("jobs.action", {"action": "enable", "job_id": "backup"}),
    Ask("jobs.action", {"action": "cancel", "job_id": "backup"}),
    Ask("jobs.action", {"action": "trigger", "job_id": "nothing"}),
    Ask("server.query", {"query_type": "info"}),
    Ask("server.query", {"query_type": "config"}),
    Ask("server.query", {"query_type": "audit", "since": "yesterday"}),
    Ask("server.query", {"query_type": "audit", "user": "mona", "outcome": "error"}),
    Ask(
        "debug.sql",
        {
            "catalogue": "wines",
            "query": "SELECT country, count(*) FROM items GROUP BY 1 ORDER BY 2 DESC, 1",
            "limit": 3,
        },
        3,
    ),
    Ask(
        "debug.sql",
        {
            "catalogue": "anime",
            "query": "SELECT id, year, episodes FROM items WHERE year > 2020 ORDER BY id",
        },
    ),
    Ask(
        "debug.sql",
        {
            "catalogue": "wines",
            "query": "SELECT change_no, id, op, principal FROM changes ORDER BY change_no",
        },
    ),
    Ask("debug.sql", {"catalogue": "wines", "query": "DELETE FROM items"}),
    Ask("debug.sql", {"catalogue": "wines", "query": "SELECT * FROM nothing"}),
    Ask("debug.sql", {"catalogue": "wines", "query": "SELEKT"}),
    Ask("debug.sql", {"query": "SELECT 1"}),
    Ask("debug.inspect", {"query_type": "index"}),
    Ask("debug.inspect", {"query_type": "index", "catalogue": "wines"}),
    Ask("debug.inspect", {"query_type": "integrity", "catalogue": "wines"}),
    Ask("downloads.query", {"query_type": "queue"}),
    Ask("downloads.query", {"query_type": "item", "id": 99}),
)


def record_administration_over_mcp(recorder: Recorder, served: Served) -> None:
    """Record the tools of administrators."""
    for ask in ADMINISTRATION:
        recorder.ask(served.mcp("ada"), "ada", ask)
    for kind in ("memory", "sessions"):
        recorder.ask(
            served.mcp("ada"), "ada", Ask("server.query", {"query_type": kind}), by_form=True
        )
    recorder.ask(
        served.mcp("ada"), "ada", Ask("debug.inspect", {"query_type": "errors"}), by_form=True
    )
    for ask in (
        Ask("users.mutate", {"action": "grant", "name": "rita", "permission": "ServerAdmin"}),
        Ask("users.mutate", {"action": "delete", "name": "ada"}),
        Ask("users.query", {"query_type": "get", "name": "ada"}),
    ):
        recorder.ask(served.mcp("mona"), "mona", ask)


def record_jobs(recorder: Recorder, served: Served) -> None:
    """Record jobs over REST, and the output of some that run."""
    rest = served.rest("ada")
    for method, path, body in (
        ("GET", "/v1/jobs", None),
        ("GET", "/v1/jobs/nothing", None),
        ("POST", "/v1/jobs/refresh:wines/schedule", {"schedule": "6h"}),
        ("POST", "/v1/jobs/refresh:wines/schedule", {"schedule": "manual"}),
        ("POST", "/v1/jobs/prune_logs/disable", None),
        ("POST", "/v1/jobs/prune_logs/enable", None),
        ("POST", "/v1/jobs/prune_logs/schedule", {"schedule": "61 * * * *"}),
        ("POST", "/v1/jobs/prune_logs/schedule", {}),
    ):
        recorder.request(rest, "ada", method, path, body)
    for job in ("prune_logs", "prune_audit", "verify_indexes"):
        status = rest.request("POST", f"/v1/jobs/{job}/trigger")[
            0
        ]  # its answer may have begun to run, or not
        recorder.note("rest", "ada", f"POST /v1/jobs/{job}/trigger", {}, {"status": status})
        wait_until(lambda job=job: _has_run(served.rest("polly"), job), f"the job {job}")
        for part in ("", "/runs", "/output"):
            recorder.request(rest, "ada", "GET", f"/v1/jobs/{job}{part}")
    recorder.request(rest, "ada", "GET", "/v1/jobs/backup/output")


def _has_run(rest: Http, job: str) -> bool:
    runs = json.loads(rest.request("GET", f"/v1/jobs/{job}/runs")[2])["runs"]
    return bool(runs) and runs[0]["ended_at"] is not None


CATALOGUE_REQUESTS: tuple[tuple[str, str, Any], ...] = (
    (
        "POST",
        "/v1/catalogues/wines/describe",
        {"title": "Bottles", "summary": "What is in the cellar.", "editable": False},
    ),
    ("POST", "/v1/catalogues/wines/describe", {}),
    ("POST", "/v1/catalogues/nothing/describe", {"title": "Bottles"}),
    ("GET", "/v1/catalogues/wines", None),
    ("POST", "/v1/catalogues/wines/rename", {"new": "cellar"}),
    ("GET", "/v1/catalogues/wines", None),
    ("GET", "/v1/catalogues/cellar", None),
    ("POST", "/v1/catalogues/cellar/rename", {"new": "anime"}),
    ("POST", "/v1/catalogues/cellar/rename", {"new": "../cellar"}),
    ("POST", "/v1/catalogues/cellar/undo", None),
    ("POST", "/v1/catalogues/wines/undo", None),
    ("DELETE", "/v1/catalogues/dnd", None),
    ("GET", "/v1/catalogues/dnd", None),
    ("POST", "/v1/catalogues/dnd/undo", None),
    ("POST", "/v1/catalogues/dnd/undo", None),
    ("DELETE", "/v1/catalogues/nothing", None),
)


def record_catalogues(recorder: Recorder, served: Served) -> None:
    """Record catalogues that are described, renamed, removed and brought back."""
    rest = served.rest("ada")
    for method, path, body in CATALOGUE_REQUESTS:
        recorder.request(rest, "ada", method, path, body)
        recorder.ask_rest(rest, "ada", Ask("search", {"query": "dragons and wine", "limit": 2}))
    recorder.request(served.rest("eddie"), "eddie", "DELETE", "/v1/catalogues/dnd")
    for what in ("columns", "rejects", "nothing", "rebuild"):
        recorder.request(rest, "ada", "POST", "/v1/catalogues/wines/work", {"what": what})
        wait_until(lambda: not _works(served.rest("polly")), f"the work {what}")
        recorder.request(rest, "ada", "GET", "/v1/catalogues/wines")


def _works(rest: Http) -> bool:
    work = json.loads(rest.request("GET", "/v1/catalogues/wines")[2]).get("work")
    return bool(work) and work["is_running"]


GONE_S = 3.0  # a server that has just lost a catalogue may miss its files


def record_uploads(recorder: Recorder, served: Served) -> None:
    """Record a table that is sent in two pieces, built, found and removed; and refused ones."""
    rest, content = served.rest("ada"), (served.world.tables / "survey.csv").read_bytes()
    for body in (
        {"file": "survey.csv", "size_bytes": 0},
        {"file": "survey.exe", "size_bytes": 9},
        {"file": "../a.csv", "size_bytes": 9},
        {},
    ):
        recorder.request(rest, "ada", "POST", "/v1/tables", body)
    begun = recorder.request(
        rest, "ada", "POST", "/v1/tables", {"file": "survey.csv", "size_bytes": len(content)}
    )
    path, half = f"/v1/tables/{begun['id']}", len(content) // 2
    recorder.mask.learn(begun["id"], "a table")
    sent = {"Content-Type": "application/octet-stream"}
    for offset, piece in ((0, content[:half]), (7, content[half:]), (half, content[half:])):
        recorder.request(rest, "ada", "PUT", f"{path}/content?offset={offset}", piece, headers=sent)

    def built() -> Any:
        found = json.loads(rest.request("GET", path)[2])
        return found if found.get("state") in ("built", "failed") else None

    name = wait_until(built, "the table to be built").get("catalogue") or "survey"
    asked = served.rest("polly")
    wait_until(lambda: name in asked.request("GET", "/v1/access")[2].decode(), "the new catalogue")
    recorder.request(rest, "ada", "GET", path)
    recorder.request(rest, "ada", "GET", "/v1/tables")
    recorder.request(rest, "ada", "GET", f"/v1/catalogues/{quote(name)}")
    recorder.ask_rest(rest, "ada", Ask("browse", {"catalogue": name}))
    recorder.ask_rest(rest, "ada", Ask("search", {"catalogue": name, "query": "*", "limit": 2}))
    recorder.request(rest, "ada", "POST", f"{path}/build", {"options": {"skip": "1"}})
    recorder.request(rest, "ada", "DELETE", path)
    recorder.request(rest, "ada", "DELETE", f"/v1/catalogues/{quote(name)}")
    recorder.request(rest, "ada", "GET", path)
    time.sleep(GONE_S)


REPORTS = (
    Ask("analytics.query", {"query_type": "listening"}),
    Ask("analytics.query", {"query_type": "listening", "period": "day"}),
    Ask(
        "analytics.query",
        {"query_type": "listening", "user": "rita", "from": "2020-01-01", "to": "2099-12-31"},
    ),
    Ask("analytics.query", {"query_type": "popular", "limit": 5}),
    Ask("analytics.query", {"query_type": "top_queries", "limit": 10}, 2),
    Ask("analytics.query", {"query_type": "no_results"}),
    Ask("analytics.query", {"query_type": "popular", "from": "next week"}),
    Ask("analytics.query", {"query_type": "nothing"}),
)
UNEQUAL = (
    "number",
    "at",
    "ms",
    "call_id",
)  # of a row of the audit; `ms` is left out where it is nothing


def record_reports(recorder: Recorder, served: Served) -> None:
    """Record the analytics, then the whole audit, row by row, which tells of every call before."""
    for ask in REPORTS:
        recorder.ask(served.mcp("ada"), "ada", ask)
        recorder.ask(served.mcp("anna"), "anna", ask)
    recorder.ask(
        served.mcp("ada"), "ada", Ask("analytics.query", {"query_type": "bandwidth"}), by_form=True
    )
    rest = served.rest("ada")
    for query in (
        "user=ada&limit=3",
        "outcome=refused&limit=5",
        "user=rita&limit=5",
        "tool=catalog.mutate&limit=5",
        "user=rita&since=2d&limit=2",
        "since=soon",
        "limit=0",
    ):
        recorder.request(rest, "ada", "GET", f"/v1/audit?{query}")
    recorder.ask(served.mcp("ada"), "ada", Ask("server.query", {"query_type": "audit_check"}))
    rows = _all_rows(rest)
    for row in rows:
        named = {name: row.get(name) for name in ("user", "via", "operation", "target")}
        recorder.note("audit", str(row.get("user")), "row", named, row)
    recorder.request(rest, "ada", "GET", "/metrics", by_form=True)
    recorder.request(rest, "ada", "GET", "/status", by_form=True)


def _all_rows(rest: Http) -> list[dict[str, Any]]:
    """Return the audit, oldest first, without what was asked while waiting."""
    rows: dict[int, dict[str, Any]] = {}
    has_more = True
    while has_more:
        page = json.loads(rest.request("GET", f"/v1/audit?limit=1000&offset={len(rows)}")[2])
        rows |= {row["number"]: row for row in page["rows"]}
        has_more = page["has_more"]
    ordered = [rows[number] for number in sorted(rows) if rows[number]["user"] != "polly"]
    return [{name: row[name] for name in row if name not in UNEQUAL} for row in ordered]
