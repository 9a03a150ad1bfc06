"""Messages without the places of the server."""

from pathlib import PurePath

import pytest

from stackroom.text.safe import hide_places, hider_of


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("/srv/lib/catalogues/bcl/lance: cannot be read", "lance: cannot be read"),
        ("Not found: bcl, (/root/.cargo/registry/src/lance-1/src/table.rs:31:5)", "Not found: bcl, (table.rs:31:5)"),
        ("infinity at http://127.0.0.1:45257: cannot be reached", "infinity: cannot be reached"),
        ("see '/var/lib/x/y'; then", "see 'y'; then"),
        ("POST /v1/me/password with JSON; /openapi.json lists the paths", None),
        ("dnd/records.sqlite: cannot be opened; km/h and/or 3/4", None),
        ("no record 'stackroom://anime/5'", None),
    ],
)
def test_paths_are_cut_to_their_last_part_and_addresses_of_services_left_out(message: str, shown: str | None) -> None:
    assert hide_places(message) == (message if shown is None else shown)


def test_a_known_folder_is_hidden_whatever_characters_it_has() -> None:
    hide = hider_of([PurePath("/srv/my library, (new)")])
    assert hide("/srv/my library, (new)/models/x.onnx is missing") == "models/x.onnx is missing"
    assert "srv" not in hide("the folder /srv/my library, (new) is full")
