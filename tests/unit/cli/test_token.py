"""`stackroom token`: secrets that can be piped, lists without them, and an end that holds."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from stackroom.control.control import Control
from stackroom.errors import NotFoundError
from stackroom.settings import Settings
from support.terminals import Run

pytestmark = pytest.mark.row("Z2")


@pytest.fixture
def home(home: Path, run: Run) -> Path:
    """A library with the catalogue 'anime' and the users ada and bob."""
    (home / "catalogues" / "anime").mkdir(parents=True)
    (home / "catalogues" / "anime" / "installed.json").write_text('{"spec": "anime"}')
    run("user add ada --role editor")
    run("user add bob")
    return home


@contextmanager
def control_of(home: Path) -> Iterator[Control]:
    with closing(Control.open(Settings(home=home))) as control:
        yield control


def works(home: Path, secret: str) -> bool:
    with control_of(home) as control:
        return control.credentials.find(secret) is not None


def test_the_secret_stands_alone_on_standard_output_and_works(home: Path, run: Run) -> None:
    ran = run("token add laptop --user Ada")
    secret = ran.out.removesuffix("\n")
    assert ran.code == 0
    assert secret.startswith("stk_t_")
    assert len(secret.split()) == 1
    assert "kind: token; user: ada; name: laptop" in ran.err
    assert "not shown again" in ran.err
    assert secret not in ran.err
    with control_of(home) as control:
        found = control.credentials.find(secret)
    assert found is not None
    assert found[1].name == "ada"


@pytest.mark.row("Z13")
def test_a_leaked_secret_is_revoked_by_itself_and_never_repeated(home: Path, run: Run) -> None:
    made = run("token add laptop --user ada --json").json
    ran = run(f"token revoke {made['token']} --json")
    assert ran.json == {"revoked": made["id"]}
    assert not works(home, made["token"])
    again = run(f"token revoke {made['token']}")
    assert again.code == NotFoundError.exit_code
    assert made["token"] not in again.err
