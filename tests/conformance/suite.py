"""The official conformance suite, for the newest revision of the protocol and the newest with a
handshake.

All of it is run against the fixture; against the real server, what can be held against any.
"""

import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.library import serving_library
from conformance.node import REPO, SUITE, Node
from conformance.processes import CannotRunError, find_free_port, run_bounded, serving
from conformance.verdict import Verdict, judge, load_checks

TIMEOUT_S = 120
REVISIONS = ("2025-11-25", "2026-07-28")
Foreseen = Mapping[tuple[str, str], str]
"""The failures (and warnings) that are accepted, by scenario and check, and why. Best is none."""

NOT_RESUMABLE = "streams are not resumable: 2026-07-28 took that away"
OF_FIXTURE: Foreseen = {
    ("server-sse-polling", "server-sse-priming-event"): NOT_RESUMABLE,
    ("server-sse-polling", "server-sse-retry-field"): NOT_RESUMABLE,
}
OWN_TOOL = "cannot be tested without a tool of the suite's own; the fixture has it"
OWN_CHANGE = (
    "cannot be tested without a tool of the suite's own that changes the lists; test_words_first"
    " changes them"
)
OF_CATALOGUE: Foreseen = {
    ("server-stateless", "sep-2575-server-rejects-undeclared-capability"): OWN_TOOL,
    ("server-stateless", "sep-2575-missing-capability-http-400"): OWN_TOOL,
    ("server-stateless", "sep-2575-http-server-no-independent-requests-on-stream"): OWN_TOOL,
    ("server-stateless", "sep-2575-server-no-log-without-loglevel"): OWN_TOOL,
    ("server-stateless", "sep-2575-server-sends-prompts-list-changed-on-subscription"): OWN_CHANGE,
    ("server-stateless", "sep-2575-server-sends-tools-list-changed-on-subscription"): OWN_CHANGE,
}
CATALOGUE_SCENARIOS = frozenset(
    {
        "caching",
        "dns-rebinding-protection",
        "http-header-validation",
        "ping",
        "prompts-list",
        "resources-list",
        "sep-2164-resource-not-found",
        "server-initialize",
        "server-session-lifecycle",
        "server-sse-multiple-streams",
        "server-stateless",
        "tools-list",
    }
)
"""The scenarios that any server can be held to, whatever its tools are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server, and what is expected of it."""

    name: str
    url: str
    foreseen: Foreseen
    scenarios: frozenset[str] | None = None
    """None: all that there are."""


_LISTED = re.compile(r"^  - (\S+) \[", re.MULTILINE)


def check_fixture(node: Node) -> bool:
    """Run every scenario against the fixture, print what came out, and return whether it is as it
    should be.
    """
    port = find_free_port()
    environment = {**os.environ, "PYTHONPATH": str(REPO / "tests")}
    command = [sys.executable, "-m", "conformance.fixture", "--port", str(port)]
    target = Target(name="the fixture", url=f"http://127.0.0.1:{port}/mcp", foreseen=OF_FIXTURE)
    with serving(command, environment=environment, port=port):
        return _check(node, target)


def check_catalogue(node: Node) -> bool:
    """Run the scenarios that any server can be held to against the real one."""
    with serving_library() as library:
        url = f"{library.url}/mcp"
        return _check(
            node,
            Target(name="stackroom", url=url, foreseen=OF_CATALOGUE, scenarios=CATALOGUE_SCENARIOS),
        )


def _check(node: Node, target: Target) -> bool:
    verdicts = {revision: _run(node, target, revision) for revision in REVISIONS}
    for revision, verdict in verdicts.items():
        _print(target, revision, verdict)
    return all(verdict.is_good for verdict in verdicts.values())


def _run(node: Node, target: Target, revision: str) -> Verdict:
    listed = frozenset(_list_scenarios(node, revision))
    scenarios = listed if target.scenarios is None else listed & target.scenarios
    with tempfile.TemporaryDirectory(prefix="stackroom-conformance-") as folder:
        chosen = ["--suite", "all", "--spec-version", revision]
        command = node.command(
            SUITE, "server", "--url", target.url, *chosen, "--output-dir", folder
        )
        finished = run_bounded(command, environment=node.environment(), timeout_s=TIMEOUT_S)
        checks = load_checks(Path(folder))
    if not checks:
        raise CannotRunError(
            f"the suite has no results:\n{finished.output[-1_000:]}{finished.errors[-1_000:]}"
        )
    return judge(
        [check for check in checks if check.scenario in scenarios],
        scenarios=scenarios,
        foreseen=[key for key in target.foreseen if key[0] in scenarios],
    )


def _list_scenarios(node: Node, revision: str) -> list[str]:
    command = node.command(SUITE, "list", "--server", "--spec-version", revision)
    finished = run_bounded(command, environment=node.environment(), timeout_s=TIMEOUT_S)
    scenarios = _LISTED.findall(finished.output)
    if not scenarios:
        raise CannotRunError(
            f"the suite lists no scenarios:\n{finished.output[-1_000:]}{finished.errors[-1_000:]}"
        )
    return scenarios


def _print(target: Target, revision: str, verdict: Verdict) -> None:
    outcomes = dict.fromkeys(verdict.passed, "passed  ")
    outcomes |= {check.scenario: "foreseen" for check in verdict.foreseen}
    outcomes |= {check.scenario: "FAILED  " for check in verdict.unforeseen}
    print(f"\nconformance of {target.name}, {revision}")
    for scenario, outcome in outcomes.items():
        print(f"  {outcome} {scenario} ({verdict.passed[scenario]} checks)")
    for check in verdict.unforeseen:
        print(f"  {check.status} {check.scenario}:{check.id} {check.message}")
    for check in verdict.foreseen:
        print(
            f"  {check.status} {check.scenario}:{check.id} is foreseen:"
            f" {target.foreseen[check.key]}"
        )
    for scenario, check_id in verdict.stale:
        print(
            f"  STALE {scenario}:{check_id} is foreseen to fail and does not: take it off the list"
        )
    for scenario in verdict.missing:
        print(f"  MISSING {scenario} has no results")
    total = sum(verdict.passed.values())
    print(
        f"  {total} checks passed, {len(verdict.unforeseen)} failed, {len(verdict.foreseen)}"
        " foreseen"
    )
