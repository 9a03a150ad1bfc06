"""A pytest plugin: with STACKROOM_STRICT_SKIPS=1, a run fails where tests were skipped for a reason
that is not foreseen.

A suite that silently does not run, such as the PostgreSQL half of the contract tests, would make a
green run mean less than it says. Loaded by the root conftest; counts on the controller, so it works
under xdist too.
"""

import os
from collections import Counter

import pytest

FORESEEN = (
    "needs Linux's /proc",
    "only Linux says so",
    "this platform does not say",
    "everything can be read here",
    "the real data sets are not here",
    "promtool is not installed",
    "Debian's PostgreSQL 15 is not installed",
    "pgvector of this wheel needs a processor with SVE",
)
"""Parts of the reasons that a complete run may give: the platform, its packages, the user, and data
that is not in the repository.
"""


class StrictSkips:
    """Counts skipped tests by reason, and fails the run for unforeseen ones."""

    def __init__(self) -> None:
        self.unforeseen: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a skipped test."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self._note(report.longrepr)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a skipped module."""
        if report.skipped:
            self._note(report.longrepr)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run."""
        if self.unforeseen and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say why."""
        for reason, count in self.unforeseen.items():
            terminalreporter.write_line(
                f"{count} tests did not run, which counts as a failure: {reason}", red=True
            )

    def _note(self, longrepr: object) -> None:
        reason = str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
        if not any(part in reason for part in FORESEEN):
            self.unforeseen[reason] += 1


def pytest_configure(config: pytest.Config) -> None:
    """Count skips on the process that reports, where the run is strict."""
    is_worker = hasattr(config, "workerinput")
    if os.environ.get("STACKROOM_STRICT_SKIPS") == "1" and not is_worker:
        config.pluginmanager.register(StrictSkips(), "strict-skips")
