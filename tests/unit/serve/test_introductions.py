"""What a client is told when it connects, also to a server that is loading or busy."""

import threading
from dataclasses import replace
from typing import Any

import anyio
import pytest

from stackroom.errors import InputError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Action
from stackroom.serve import async_gate
from stackroom.serve.async_gate import Introductions
from stackroom.tools.instructions import GENERAL, WITHOUT_CATALOGUES
from stackroom.tools.toolbox import Toolbox

READER = replace(LOCAL_USER, name="reader", actions=frozenset({Action.ACCESS_CATALOG}))


def test_callers_with_the_same_rights_share_what_was_made_until_the_library_changes() -> None:
    made: list[int] = []

    def gate() -> Gate:
        made.append(1)
        return Gate(Toolbox([]))

    told = Introductions(gate)

    async def ask() -> None:
        for _ in range(3):
            assert await told.text_for(LOCAL_USER, is_plain=False) == WITHOUT_CATALOGUES
        await told.text_for(replace(LOCAL_USER, name="another"), is_plain=False)
        assert len(made) == 1
        await told.text_for(READER, is_plain=False)
        await told.text_for(LOCAL_USER, is_plain=True)
        assert len(made) == 3
        told.forget()
        await told.text_for(LOCAL_USER, is_plain=False)
        assert len(made) == 4

    anyio.run(ask)


def test_a_client_that_connects_while_the_catalogues_load_is_told_in_general(monkeypatch: pytest.MonkeyPatch) -> None:
    is_loaded = threading.Event()

    def gate() -> Gate:
        is_loaded.wait(30)
        return Gate(Toolbox([]))

    told = Introductions(gate)

    async def ask() -> Any:
        early = await told.text_for(LOCAL_USER, is_plain=False)
        is_loaded.set()
        monkeypatch.setattr(async_gate, "WAIT_S", 30)
        return early, await told.text_for(LOCAL_USER, is_plain=False)

    monkeypatch.setattr(async_gate, "WAIT_S", 0.05)
    try:
        early, late = anyio.run(ask)
    finally:
        is_loaded.set()
    assert (early, late) == (GENERAL, WITHOUT_CATALOGUES)


def test_a_client_of_a_server_whose_catalogues_cannot_be_loaded_is_told_in_general() -> None:
    def gate() -> Gate:
        raise InputError("the library is damaged")

    async def ask() -> str:
        return await Introductions(gate).text_for(LOCAL_USER, is_plain=False)

    assert anyio.run(ask) == GENERAL
