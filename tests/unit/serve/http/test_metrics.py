"""Counters: what is counted, under which labels, and at what cost."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from stackroom.assembly.server_health import Reading
from stackroom.model.principal import Action, AuditEntry, Outcome
from stackroom.serve.http.metrics import Metrics
from support.work import count_calls

READINGS = [
    Reading("ready", True),
    Reading("cache_hits_total", 7),
    Reading("part_ok", False, {"part": "disk"}),
]


def entry(target: str = "search", outcome: Outcome = Outcome.OK, **more: Any) -> AuditEntry:
    values: dict[str, Any] = {
        "operation": "tools/call",
        "duration_ms": 20.0,
        "result_bytes": 100,
        **more,
    }
    return AuditEntry(
        at=datetime.now(UTC),
        call_id="x",
        principal="reader",
        via="rest",
        target=target,
        parameters={},
        outcome=outcome,
        **values,
    )


def samples(metrics: Metrics, entries: Iterable[AuditEntry] = ()) -> dict[tuple[str, ...], float]:
    """Count these, and return every sample by its name and the values of its labels."""
    for one in entries:
        metrics.write(one, durable=False)
    body, _ = metrics.render(READINGS)
    families = text_string_to_metric_families(body.decode())
    return {
        (one.name, *(value for _, value in sorted(one.labels.items()))): one.value
        for family in families
        for one in family.samples
    }


def tools_counted(found: dict[tuple[str, ...], float]) -> set[str]:
    return {key[3] for key in found if key[0] == "stackroom_calls_total"}


def test_calls_are_counted_by_operation_tool_outcome_and_way() -> None:
    found = samples(Metrics(), [entry(), entry(), entry(outcome=Outcome.ERROR, result_bytes=0)])
    assert found["stackroom_calls_total", "tools/call", "ok", "search", "rest"] == 2
    assert found["stackroom_calls_total", "tools/call", "error", "search", "rest"] == 1
    assert found["stackroom_result_bytes_total", "tools/call", "search"] == 200
    assert found["stackroom_call_duration_seconds_count", "tools/call", "search"] == 3
    assert found["stackroom_call_duration_seconds_sum", "tools/call", "search"] == pytest.approx(
        0.06
    )
    assert found["stackroom_call_duration_seconds_bucket", "0.01", "tools/call", "search"] == 0
    assert found["stackroom_call_duration_seconds_bucket", "0.025", "tools/call", "search"] == 3


def test_names_that_callers_make_up_are_no_labels() -> None:
    outcomes = (Outcome.REFUSED, Outcome.OVERLOADED, Outcome.LIMITED)
    made_up = [entry(f"made up {one}", outcome) for one in range(50) for outcome in outcomes]
    read = [entry(f"notes://{number}", operation="resources/read") for number in range(50)]
    known = [entry(), *(entry(outcome=outcome) for outcome in outcomes[1:])]
    found = samples(Metrics(), [*made_up, *read, *known])
    assert tools_counted(found) == {"", "unknown", "search"}
    for outcome in outcomes[1:]:
        assert found["stackroom_calls_total", "tools/call", outcome, "search", "rest"] == 1
        assert found["stackroom_calls_total", "tools/call", outcome, "unknown", "rest"] == 50


def test_what_is_true_at_the_moment_is_told_beside() -> None:
    found = samples(Metrics())
    assert found["stackroom_ready",] == 1
    assert found["stackroom_cache_hits_total",] == 7
    assert found["stackroom_part_ok", "disk"] == 0
    for name in ("resident_memory_bytes", "cpu_seconds_total", "open_fds", "start_time_seconds"):
        assert found[f"process_{name}",] > 0


def test_two_servers_in_one_process_count_apart() -> None:
    samples(Metrics(), [entry()])
    assert tools_counted(samples(Metrics())) == set()


def test_counting_a_call_costs_next_to_nothing() -> None:
    metrics, call = Metrics(), entry()
    metrics.write(call, durable=False)
    assert count_calls(lambda: metrics.write(call, durable=False)) < 60


def test_openmetrics_is_given_to_who_asks_for_it() -> None:
    body, media_type = Metrics().render(
        READINGS, accept="application/openmetrics-text; version=1.0.0"
    )
    assert media_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_without_accounts_metrics_are_open(local: Any) -> None:
    local.client.post("/v1/tools/ping")
    reply = local.client.get("/metrics")
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain")
    for name in (
        "ready",
        "streams_open",
        "calls_in_flight",
        "cache_entries",
        "cache_hits_total",
        "cache_misses_total",
    ):
        assert f"\nstackroom_{name} " in reply.text
    assert (
        'stackroom_calls_total{operation="tools/call",outcome="ok",tool="ping",via="rest"} 1.0'
        in reply.text
    )


def test_with_accounts_metrics_need_a_permission(site: Any) -> None:
    site.add_user("boss", "admin")
    assert site.client.get("/metrics").status_code == 401
    assert site.by_token().get("/metrics").status_code == 403
    for allowed in (Action.VIEW_ANALYTICS, Action.SERVER_ADMIN):
        assert site.by_token("boss", scopes=[allowed]).get("/metrics").status_code == 200
    assert site.by_token("boss", scopes=[Action.ACCESS_CATALOG]).get("/metrics").status_code == 403


def test_metrics_do_not_wait_for_the_catalogues(make_site: Any) -> None:
    loading = make_site(accounts=False, is_loaded=False)
    assert "stackroom_ready 0.0" in loading.client.get("/metrics").text
