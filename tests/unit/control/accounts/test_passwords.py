"""Passwords: how they are stored, and how long it takes to compare one."""

import threading
import time

import pytest
from argon2 import extract_parameters
from argon2.low_level import Type

from pinakes.control.accounts import passwords
from pinakes.control.accounts.passwords import UNMATCHED_HASH, hash_password, verify_password

pytestmark = [pytest.mark.row("Z2"), pytest.mark.alone]


def test_a_password_is_stored_by_argon2id_with_enough_work() -> None:
    stored = hash_password("correct horse")
    for one in (stored, UNMATCHED_HASH):
        found = extract_parameters(one)
        assert (found.type, found.memory_cost, found.time_cost, found.parallelism) == (Type.ID, 19_456, 2, 1)
    assert hash_password("correct horse") != stored


def test_the_same_password_verifies_and_no_other() -> None:
    stored = hash_password("correct horse")
    assert verify_password(stored, "correct horse")
    assert not verify_password(stored, "correct horsf")
    assert not verify_password("not a hash", "correct horse")
    assert not verify_password(None, "correct horse")


def test_what_is_past_the_longest_password_is_not_left_out() -> None:
    longest = "x" * 1024
    stored = hash_password(longest)
    assert verify_password(stored, longest)
    assert not verify_password(stored, longest + "y")


def test_comparing_with_nobodys_password_lasts_as_long() -> None:
    stored = hash_password("correct horse")
    best = {"known": 9.0, "nobody": 9.0}
    for _ in range(7):
        for label, one in (("known", stored), ("nobody", None)):
            began = time.perf_counter()
            verify_password(one, "wrong horse")
            best[label] = min(best[label], time.perf_counter() - began)
    assert max(best.values()) < 1.5 * min(best.values())


def test_at_most_four_are_compared_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most = 0, 0
    guard, enough = threading.Lock(), threading.Event()

    class Watched:
        def hash(self, _text: bytes) -> str:
            nonlocal at_once, most
            with guard:
                at_once += 1
                most = max(most, at_once)
            enough.wait(0.2)
            with guard:
                at_once -= 1
            return ""

    monkeypatch.setattr(passwords, "HASHER", Watched())
    threads = [threading.Thread(target=hash_password, args=("correct horse",)) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 4
