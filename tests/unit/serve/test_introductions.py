"""What a client is told when it connects, also to a server that is loading or busy."""

from concurrent.futures import Future
from typing import Any

import anyio
import pytest

from stackroom.errors import InputError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER
from stackroom.serve import async_gate
from stackroom.serve.async_gate import AsyncGate, Workers
from stackroom.tools.instructions import GENERAL, WITHOUT_CATALOGUES
from stackroom.tools.toolbox import Toolbox
from support.plain_tools import loaded

EMPTY = Gate(Toolbox([]))


def test_a_client_that_connects_is_told_of_the_catalogues() -> None:
    async def ask() -> list[str]:
        gate = AsyncGate(loaded(EMPTY), Workers())
        return [await gate.introduce(LOCAL_USER, is_plain=is_plain) for is_plain in (False, True)]

    assert anyio.run(ask) == [WITHOUT_CATALOGUES] * 2


def test_a_client_that_connects_while_the_catalogues_load_is_told_in_general(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: Future[Gate] = Future()

    async def ask() -> Any:
        gate = AsyncGate(opened, Workers())
        early = await gate.introduce(LOCAL_USER, is_plain=False)
        opened.set_result(EMPTY)
        monkeypatch.setattr(async_gate, "WAIT_S", 30)
        return early, await gate.introduce(LOCAL_USER, is_plain=False)

    monkeypatch.setattr(async_gate, "WAIT_S", 0.05)
    early, late = anyio.run(ask)
    assert (early, late) == (GENERAL, WITHOUT_CATALOGUES)


def test_a_client_of_a_server_whose_catalogues_cannot_be_loaded_is_told_in_general() -> None:
    opened: Future[Gate] = Future()
    opened.set_exception(InputError("the library is damaged"))

    async def ask() -> str:
        return await AsyncGate(opened, Workers()).introduce(LOCAL_USER, is_plain=False)

    assert anyio.run(ask) == GENERAL
