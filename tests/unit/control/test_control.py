"""The control side as a whole: where it is, what opening it makes, and what it does not load."""

import subprocess
import sys
from pathlib import Path

import pytest

from stackroom.control.control import Control
from stackroom.model.principal import LOCAL_USER, Cost
from stackroom.settings import ControlSettings, RateLimitSettings, Settings


def loaded_by(module: str) -> set[str]:
    """Return what a fresh process has loaded after importing a module."""
    script = f"import sys, {module}; print(*sys.modules)"
    return set(
        subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        ).stdout.split()
    )


def test_a_control_database_exists_once_it_was_opened_or_is_configured(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    assert not settings.has_control
    Control.open(settings).close()
    assert settings.has_control
    assert (tmp_path / "home" / "control.sqlite").is_file()
    elsewhere = Settings(
        home=tmp_path / "other", control=ControlSettings(url="postgresql+psycopg://h/n")
    )
    assert elsewhere.has_control
    assert elsewhere.control_url == "postgresql+psycopg://h/n"


@pytest.mark.row("Z12")
def test_the_limits_are_those_that_are_configured(tmp_path: Path) -> None:
    limits = RateLimitSettings(read_per_minute=2, write_per_minute=1, sql_per_minute=0)
    control = Control.open(Settings(home=tmp_path, rate_limit=limits))
    try:
        user = control.accounts.create_user(LOCAL_USER, "ada", password=None)
        quotas = control.identities.principal_of(user).quotas
        assert quotas is not None
        assert [quotas.of(cost) for cost in Cost] == [2, 1, 0]
    finally:
        control.close()


def test_what_reads_other_databases_is_not_loaded_for_nothing() -> None:
    assert loaded_by("stackroom.control.control").isdisjoint(
        {"jwt", "cryptography", "httpx", "psycopg", "limits"}
    )
