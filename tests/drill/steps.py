"""The steps of a drill, in their order."""

import os
import shutil
import signal
import statistics
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from drill.record import Step
from drill.world import COUNTRIES, TABLE, WORDS, World
from support.disks import filled
from support.processes import becomes

NOTICED_S = 5.0
"""How soon another control database must be noticed."""
TOLD_S = 90.0
LEFT_BACKUPS = 3
CLIENTS, CALLING_S = 200, 30
"""How many clients call at once, and for how long."""


def keep_accounts(world: World, step: Step) -> None:
    """Let people come, be restricted, and go."""
    for name in ("ann", "bob", "eve"):
        world.add_user(name, "user")
    world.add_user("ed", "editor")
    world.must_run("role", "add", "staff", "--allow", "AccessCatalog")
    world.must_run("access", "restrict", TABLE, "--user", "bob", "--user", "ed")
    hidden, seen = (
        world.call("search", user=user, query="oak", catalogue=TABLE) for user in ("ann", "bob")
    )
    step.require(
        hidden.status_code == 404 and seen.status_code == 200, "bob sees what ann does not"
    )
    world.must_run("access", "open", TABLE)
    world.must_run("user", "disable", "eve")
    refused = world.call("search", user="eve", query="oak")
    step.require(refused.status_code == 401, f"eve is disabled and gets {refused.status_code}")
    step.see("health", "ok", ok=not world.health())
    step.see(
        "doctor",
        "control database works",
        ok=not [line for line in world.doctor() if "control" in line],
    )
    ends = world.metric("token_expiry_timestamp_seconds", user="bob")
    step.see("metrics", "token_expiry_timestamp_seconds", ok=ends and ends > time.time())
    rows = {row["operation"] for row in world.audit("-n", "50")}
    step.see(
        "audit",
        "every change has a row",
        ok={"account/create_user", "account/restrict_catalogue"} <= rows,
    )


def live_through_a_year(world: World, step: Step) -> None:
    """Let people edit by day, and run a job and a backup each night; the whole chain of the audit
    must hold.
    """
    kept = world.home / "backups"
    for night in range(world.nights):
        edited = _edit(world, night, f"{WORDS[night % 7]} of night {night}")
        if edited.status_code != 200:
            step.blame(f"night {night}: {edited.status_code} {edited.text[:200]}")
        jobs = [world.run_job(job) for job in ("integrity_check", "backup")]
        if jobs != ["done", "done"]:
            step.blame(f"night {night}: {jobs}")
    step.count(f"{world.nights} nights")
    left = sorted(path.name for path in kept.iterdir())
    step.require(len(left) == LEFT_BACKUPS, f"{len(left)} backups are kept")
    step.see("health", "ok", ok=not world.health())
    step.see("doctor", "ok", ok=not world.doctor())
    age = world.metric("backup_age_seconds")
    step.see("metrics", f"backup_age_seconds {age:.0f}", ok=age is not None and age < 300)
    verified = world.run("audit", "verify")
    step.see("audit", "the chain is whole", ok=verified.returncode == 0)
    again = world.folder / "again"
    world.must_run("restore", str(kept), home=again)
    last = world.must_run("get", TABLE, f"Wine {world.nights - 1}", home=again)
    step.require(f"of night {world.nights - 1}" in last, "a restored copy has the last edit")
    step.require(world.run("audit", "verify", home=again).returncode == 0, "and a whole audit")
    shutil.rmtree(again)


def fail_a_backup(world: World, step: Step) -> None:
    """Let the nightly backup fail, see who tells, and let it succeed again."""
    kept, away = world.home / "backups", world.home / "backups-away"
    if kept.exists():
        kept.rename(away)
    kept.write_text("a file, where a folder should be")
    step.require(world.run_job("backup").startswith("failed"), "the job fails")
    becomes(lambda: "job backup" in world.health(), timeout_s=TOLD_S)
    told = world.health().get("job backup", "nothing")
    step.see("health", f"job backup: {told[:60]}", ok="failed" in told)
    bad = [line for line in world.doctor() if "backup" in line]
    step.see("doctor", "BAD job backup", ok=bad)
    failures = world.metric("job_failures", job="backup")
    step.see("metrics", f"job_failures {failures:g}", ok=failures == 1)
    asked = world.audit("--tool", "jobs.action", "-n", "5") or world.audit("-n", "20")
    step.see("audit", "who triggered it", ok=any("job" in row["operation"] for row in asked))
    kept.unlink()
    if away.exists():
        away.rename(kept)
    step.require(world.run_job("backup") == "done", "the next one succeeds")
    step.require(becomes(lambda: not world.health(), timeout_s=TOLD_S), "all is well again")
    step.require(world.metric("job_failures", job="backup") == 0, "job_failures is 0")


def restore_accounts(world: World, step: Step) -> None:
    """Put the accounts of a backup in the place of the present ones, under a running server."""
    backup = max((world.home / "backups").iterdir(), default=None)
    assert backup is not None
    control = world.home / "control.sqlite"
    world.must_run("user", "disable", "ann")
    step.require(
        world.call("search", user="ann", query="oak").status_code == 401, "ann is disabled"
    )
    copy = Path(shutil.copy2(backup / "control.sqlite", world.home / "restored.sqlite"))
    for suffix in ("", "-wal", "-shm"):
        control.with_name(f"control.sqlite{suffix}").unlink(missing_ok=True)
    began = time.monotonic()
    assert world.server is not None
    url = world.server.url
    step.require(
        becomes(
            lambda: httpx.get(f"{url}/health/ready", timeout=30).status_code == 503,
            timeout_s=NOTICED_S,
        ),
        f"while it is away, /health/ready is 503 after {time.monotonic() - began:.1f} s",
    )
    away = world.call("search", query="oak")
    step.see("health", "ready is 503, calls get 503 with Retry-After", ok=away.status_code == 503)
    step.require("retry-after" in away.headers, "a call gets 503 with Retry-After")
    bad = [line for line in world.doctor() if "control" in line]
    step.say(f"doctor meanwhile: {bad}")
    os.rename(copy, control)
    began = time.monotonic()
    is_back = becomes(
        lambda: world.call("search", user="ann", query="oak").status_code == 200,
        timeout_s=NOTICED_S,
    )
    step.require(is_back, f"the restored accounts are used after {time.monotonic() - began:.1f} s")
    world.must_run("user", "disable", "bob")
    refused = world.call("search", user="bob", query="oak").status_code
    step.require(refused == 401, f"bob is disabled in the restored ones and gets {refused}")
    world.must_run("user", "enable", "bob")
    step.require(becomes(lambda: not world.health(), timeout_s=TOLD_S), "health is ok again")
    step.see("doctor", "ok again", ok=not world.doctor())
    step.see("metrics", "part_ok 1", ok=world.metric("part_ok", part="control database") == 1)
    rows = world.audit("--user", "ann", "-n", "5")
    whole = world.run("audit", "verify").returncode == 0
    step.see("audit", "calls since are in the restored file", ok=rows and whole)


def fill_the_disk(world: World, step: Step) -> None:
    """Fill the disk under a running server: reads go on, writes are refused, and nothing is called
    damaged.
    """
    if world.disk is None:
        step.skipped = "mounting a small disk needs root"
        return
    with filled(world.disk):
        step.require(
            becomes(lambda: "disk" in world.health(), timeout_s=TOLD_S), "the disk is full"
        )
        step.see(
            "health", f"disk: {world.health().get('disk', '')[:60]}", ok="disk" in world.health()
        )
        bad = world.doctor()
        step.see("doctor", "BAD disk, no catalogue", ok=any("disk" in line for line in bad))
        step.require(not any(TABLE in line for line in bad), "no catalogue is called damaged")
        step.see("metrics", 'part_ok{part="disk"} 0', ok=world.metric("part_ok", part="disk") == 0)
        reads = [
            world.call("search", query=f"{word} {country}")
            for word in WORDS
            for country in COUNTRIES
        ]
        answers = Counter(answer.status_code for answer in reads)
        step.require(answers == {200: len(reads)}, f"reads: {dict(answers)}")
        step.require(
            world.run("search", TABLE, "lamp").returncode == 0, "the command line searches"
        )
        edited = _edit(world, 1, "without room")
        step.require(
            edited.status_code == 503, f"an edit gets {edited.status_code}: {edited.text[:120]}"
        )
    step.require(
        becomes(lambda: not world.health(), timeout_s=TOLD_S), "all is well once there is room"
    )
    step.require(_edit(world, 1, "with room").status_code == 200, "the same edit is made")
    rows = world.audit("--tool", "catalog.mutate", "-n", "5")
    whole = world.run("audit", "verify").returncode == 0
    step.see(
        "audit", "the edit; the chain is whole", ok=rows and rows[0]["outcome"] == "ok" and whole
    )


def be_overrun(world: World, step: Step) -> None:
    """Let many clients call at once: each gets an answer, or is told at once when to come again."""
    world.must_run("user", "role", "ed", "editor")
    before = world.total("calls_total", outcome="overloaded") + world.total(
        "calls_total", outcome="limited"
    )
    assert world.server is not None
    ends_at = time.monotonic() + CALLING_S
    with ThreadPoolExecutor(CLIENTS) as pool:
        url, token = world.server.url, world.tokens["root"]
        calls = [pool.submit(_client, url, token, number, ends_at) for number in range(CLIENTS)]
        told = [one for call in calls for one in call.result()]
    outcomes = Counter(outcome for outcome, _took in told)
    answered = sorted(took for outcome, took in told if outcome == "200")
    refused = sorted(took for outcome, took in told if outcome in ("429", "503"))
    step.count(f"{len(told):,} calls of {CLIENTS} clients: {dict(outcomes.most_common())}")
    for name, times in (("answered", answered), ("refused", refused)):
        if times:
            cuts = statistics.quantiles(times, n=20) if len(times) > 1 else [times[0]] * 19
            step.count(f"{name}: p50 {cuts[9]:.1f} s, p95 {cuts[18]:.1f} s")
    step.require(
        set(outcomes) <= {"200", "429", "503"},
        "each has an answer; each refusal says when to come again",
    )
    step.see("health", "ok after it", ok=becomes(lambda: not world.health(), timeout_s=TOLD_S))
    step.see("doctor", "ok", ok=not world.doctor())
    after = world.total("calls_total", outcome="overloaded") + world.total(
        "calls_total", outcome="limited"
    )
    step.see(
        "metrics",
        f"calls_total, {after - before:.0f} refused",
        ok=bool(refused) == (after > before),
    )
    whole = world.run("audit", "verify").returncode == 0
    step.see("audit", "the chain is whole", ok=whole)


def be_killed(world: World, step: Step) -> None:
    """Kill the server, and start it again: what was acknowledged is there."""
    assert world.server is not None
    step.require(_edit(world, 7, "before the kill").status_code == 200, "an edit is acknowledged")
    world.server.stop(signal.SIGKILL)
    world.start()
    shown = world.call("fetch", id=f"{TABLE}/Wine 7").text
    step.require("before the kill" in shown, "it is there after the restart")
    step.see("health", "ok", ok=not world.health())
    step.see("doctor", "ok", ok=not world.doctor())
    step.see("metrics", "ready 1", ok=world.metric("ready") == 1)
    rows = world.audit("--tool", "catalog.mutate", "-n", "1")
    step.see(
        "audit", "the edit has its row", ok=rows and world.run("audit", "verify").returncode == 0
    )


STEPS: dict[str, Callable[[World, Step], None]] = {
    "accounts": keep_accounts,
    "a year of nights": live_through_a_year,
    "a backup fails": fail_a_backup,
    "the accounts are restored": restore_accounts,
    "a kill": be_killed,
    "the disk fills": fill_the_disk,
    "many clients": be_overrun,
}


def _edit(world: World, number: int, notes: str) -> httpx.Response:
    return world.call(
        "catalog.mutate", user="root", action="update", id=f"Wine {number}", fields={"notes": notes}
    )


def _client(url: str, token: str, number: int, ends_at: float) -> list[tuple[str, float]]:
    """Call again and again, as politely as a client does that reads `Retry-After`; return what came
    of each call.
    """
    told = []
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=120) as client:
        while time.monotonic() < ends_at:
            began = time.monotonic()
            query = f"{WORDS[number % 7]} {COUNTRIES[len(told) % 5]} {number * 1000 + len(told)}"
            try:
                answer = client.post(f"{url}/v1/tools/search", json={"query": query})
            except httpx.TransportError as error:
                told.append((type(error).__name__, time.monotonic() - began))
                continue
            is_silent = answer.status_code in (429, 503) and "retry-after" not in answer.headers
            outcome = f"{answer.status_code}{' without Retry-After' if is_silent else ''}"
            told.append((outcome, time.monotonic() - began))
            if answer.status_code != 200:
                time.sleep(
                    min(
                        float(answer.headers.get("retry-after", 1)),
                        max(0.0, ends_at - time.monotonic()),
                    )
                )
    return told
