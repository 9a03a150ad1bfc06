"""Counters of every call, for Prometheus."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from stackroom import LAYOUTS, __version__
from stackroom.assembly.server_health import Reading
from stackroom.model.principal import AuditEntry, Outcome

UNKNOWN = "unknown"
TOOL_CALL = "tools/call"
PROVES_NOTHING = frozenset({Outcome.REFUSED, Outcome.LIMITED, Outcome.OVERLOADED})
"""Outcomes that do not prove that the named tool exists: counting its name would let callers add
endless labels.
"""
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics(Collector):
    """Implements `gate.Observer`: counts calls."""

    def __init__(self) -> None:
        self._readings: Sequence[Reading] = ()
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._registry.register(self)
        labels, registry = ["operation", "tool"], self._registry
        calls = "Calls, by what was asked for, what became of it, and by which way it came."
        seconds, taken = "stackroom_call_duration_seconds", "How long calls took."
        self._calls = Counter(
            "stackroom_calls", calls, [*labels, "outcome", "via"], registry=registry
        )
        self._seconds = Histogram(seconds, taken, labels, buckets=BUCKETS_S, registry=registry)
        self._bytes = Counter(
            "stackroom_result_bytes", "How much calls gave back.", labels, registry=registry
        )
        self._tools: set[str] = set()

    def write(self, entry: AuditEntry, *, durable: bool) -> None:  # noqa: ARG002 - counters are never durable
        """Count a call."""
        operation, tool = entry.operation, ""
        if operation == TOOL_CALL:
            if entry.outcome not in PROVES_NOTHING:
                self._tools.add(entry.target)
            is_known = entry.target in self._tools and entry.outcome is not Outcome.REFUSED
            tool = entry.target if is_known else UNKNOWN
        self._calls.labels(operation, tool, entry.outcome.value, entry.via).inc()
        self._seconds.labels(operation, tool).observe(entry.duration_ms / 1000)
        self._bytes.labels(operation, tool).inc(entry.result_bytes or 0)

    def render(self, readings: Sequence[Reading], *, accept: str = "") -> tuple[bytes, str]:
        """Return the counters and these readings in an accepted format, and its media type."""
        encode: Callable[[CollectorRegistry], bytes]
        encode, media_type = choose_encoder(accept)
        self._readings = readings
        return encode(self._registry), media_type

    def collect(self) -> Iterable[Metric]:
        """Yield the readings as gauges and counters; docs/monitoring.md says what each is."""
        build = {
            "version": __version__,
            **{f"{what}_layout": str(number) for what, number in LAYOUTS.items()},
        }
        yield InfoMetricFamily(
            "stackroom_build", "The version, and the layouts that it writes.", value=build
        )
        for name, some in groupby(
            sorted(self._readings, key=attrgetter("name")), key=attrgetter("name")
        ):
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            family = kind(f"stackroom_{name}", f"Measure: {name.replace('_', ' ')}.", labels=())
            for reading in some:
                family.add_sample(f"stackroom_{name}", dict(reading.labels), reading.value)
            yield family
