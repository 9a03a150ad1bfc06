"""Passwords: how they are stored and compared."""

import threading

import pytest
from argon2 import extract_parameters
from argon2.low_level import Type

from stackroom.control.accounts import passwords
from stackroom.control.accounts.passwords import (
    UNMATCHED_HASH,
    hash_password,
    load_common_passwords,
    require_good_password,
    verify_password,
)
from stackroom.errors import InputError

pytestmark = pytest.mark.row("Z2")


def test_a_password_is_stored_by_argon2id_with_enough_work() -> None:
    stored = hash_password("correct horse")
    for one in (stored, UNMATCHED_HASH):
        found = extract_parameters(one)
        assert (found.type, found.memory_cost, found.time_cost, found.parallelism) == (
            Type.ID,
            19_456,
            2,
            1,
        )
    assert hash_password("correct horse") != stored


@pytest.mark.parametrize(
    "common",
    [
        "password",
        "12345678",
        "PassWord1",
        "password2026!",
        " iloveyou ",
        "qwertyuiop",
        "aaaaaaaaa",
        "ｐａｓｓｗｏｒｄ",
    ],
)
def test_a_common_password_is_refused_and_not_repeated(common: str) -> None:
    with pytest.raises(
        InputError, match="one of the most common passwords: choose another"
    ) as refusal:
        require_good_password(common, user_name="ada")
    assert common not in refusal.value.message.replace("'password'", "").replace(
        "common passwords", ""
    )


@pytest.mark.parametrize("name", ["ada.lovelace", "ADA.Lovelace1815", "stackroom1", "Stackroom!!"])
def test_the_name_of_the_user_or_of_the_service_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="a name that anybody would try first"):
        require_good_password(name, user_name="ada.lovelace")


@pytest.mark.parametrize(
    "good",
    [
        "correct horse battery",
        "passwords are dull",
        "ada.lovelace's cat",
        "ünïcødé!",
        "a1b2 c3"[:7] + "x",
    ],
)
def test_any_other_password_of_eight_characters_is_taken(good: str) -> None:
    require_good_password(good, user_name="ada.lovelace")


def test_the_list_of_common_passwords_has_thousands_and_none_that_is_too_short() -> None:
    known = load_common_passwords()
    assert len(known) == 4_000
    assert min(map(len, known)) == 8


def test_the_same_password_verifies_and_no_other() -> None:
    stored = hash_password("correct horse")
    assert verify_password(stored, "correct horse")
    assert verify_password(hash_password("caf\u00e9 au lait"), "cafe\u0301 au lait")
    assert not verify_password(stored, "correct horsf")
    assert not verify_password("not a hash", "correct horse")
    assert not verify_password(None, "correct horse")


def test_what_is_past_the_longest_password_is_not_left_out() -> None:
    longest = "x" * 1024
    stored = hash_password(longest)
    assert verify_password(stored, longest)
    assert not verify_password(stored, longest + "y")


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
