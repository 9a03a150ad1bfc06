"""Bearer tokens of an external issuer, with real keys and a real server that publishes them."""

import base64
import hashlib
import hmac
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from stackroom.control.accounts import external_issuer
from stackroom.control.accounts.external_issuer import ExternalIssuer, PublishedKeys
from stackroom.control.control import Control
from stackroom.errors import InputError
from stackroom.model.principal import LOCAL_USER, Action
from stackroom.settings import AuthSettings, ControlSettings, Settings, load_settings
from support.loopback import LoopbackServer
from support.processes import wait_until

pytestmark = pytest.mark.row("Z2")

ISSUER = "https://login.example.org"
AUDIENCE = "stackroom"
RSA_KEY = rsa.generate_private_key(65537, 2048)
OTHER_RSA_KEY = rsa.generate_private_key(65537, 2048)
SMALL_RSA_KEY = rsa.generate_private_key(65537, 1024)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()
PUBLIC_PEM = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def published(key: Any, kid: str | None, **others: Any) -> dict[str, Any]:
    """Return a public key as it is published."""
    kinds: list[tuple[type, Any]] = [
        (rsa.RSAPrivateKey, RSAAlgorithm),
        (ec.EllipticCurvePrivateKey, ECAlgorithm),
        (ed25519.Ed25519PrivateKey, OKPAlgorithm),
    ]
    algorithm = next(algorithm for kind, algorithm in kinds if isinstance(key, kind))
    named = {} if kid is None else {"kid": kid}
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), **named, **others}


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    values = {"iss": ISSUER, "aud": AUDIENCE, "sub": "auth0|Ada", "exp": now + 600, "iat": now, **changes}
    return {name: value for name, value in values.items() if value is not None}


def signed(key: Any = RSA_KEY, algorithm: str = "RS256", kid: str | None = "one", **changes: Any) -> str:
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(claims(**changes), key, algorithm=algorithm, headers=headers)


def by_hand(header: Any, payload: Any, sign: Callable[[bytes], bytes] = lambda _: b"") -> str:
    """Return a token that no library would make."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, payload)]
    signature = base64.urlsafe_b64encode(sign(b".".join(parts))).rstrip(b"=")
    return b".".join([*parts, signature]).decode()


class KeyServer(LoopbackServer):
    """Publishes keys on loopback. `mood` says how."""

    BODIES: ClassVar[dict[str, bytes]] = {
        "garbage": b"<html>",
        "other form": b'{"keys": 7}',
        "list": b"[]",
        "deep": b"[" * 100_000,
    }

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[Any] = [published(RSA_KEY, "one")]
        self.mood = "well"
        self.requests = 0

    @property
    def keys_url(self) -> str:
        return f"{self.url}/keys.json"

    def answer(self, path: str, body: Any) -> tuple[int, bytes]:
        self.requests += 1
        if self.mood == "hang":
            self.hang()
        keys = json.dumps({"keys": self.keys}).encode()
        return 500 if self.mood == "500" else 200, self.BODIES.get(self.mood, keys)


@pytest.fixture
def key_server() -> Iterator[KeyServer]:
    server = KeyServer()
    yield server
    server.die()


@pytest.fixture
def new_issuer(people: Any, key_server: KeyServer, tmp_path: Path) -> Iterator[Callable[..., ExternalIssuer]]:
    opened: list[ExternalIssuer] = []

    def make(**changes: Any) -> ExternalIssuer:
        values = {"issuer": ISSUER, "audience": AUDIENCE, "jwks_url": key_server.keys_url, **changes}
        flags = {("auth", key): value for key, value in values.items()}
        settings = load_settings({"STACKROOM_HOME": str(tmp_path / "home")}, flags=flags)
        opened.append(ExternalIssuer(settings.auth, people.database))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def issuer(new_issuer: Callable[..., ExternalIssuer]) -> ExternalIssuer:
    return new_issuer()


def test_a_good_token_is_its_users_who_is_given_an_account(people: Any, issuer: ExternalIssuer) -> None:
    expires = int(time.time()) + 600
    user, scopes, expires_at = issuer.verify(signed(exp=expires)) or pytest.fail("refused")
    assert (user.name, user.external, user.roles, user.actions) == ("ext:auth0|Ada", True, (), frozenset())
    assert (scopes, expires_at.timestamp()) == (None, expires)
    assert people.user("ext:auth0|Ada") == user
    again = issuer.verify(signed())
    assert again is not None
    assert again[0] == user
    assert people.accounts.list_users()[1] == 1


def test_a_user_who_is_seen_first_has_the_usual_role(people: Any, new_issuer: Callable[..., ExternalIssuer]) -> None:
    found = new_issuer(default_role="Editor").verify(signed())
    assert found is not None
    assert found[0].roles == ("editor",)
    people.accounts.set_roles(LOCAL_USER, "ext:auth0|Ada", ["user"])
    found = new_issuer(default_role="editor").verify(signed())
    assert found is not None
    assert found[0].roles == ("user",)


def test_a_user_is_made_once_however_many_tokens_come_at_once(
    people: Any, issuer: ExternalIssuer, at_once: Callable[..., list[Any]]
) -> None:
    found = at_once([lambda: issuer.verify(signed())] * 6)
    assert {one[0].id for one in found} == {people.user("ext:auth0|Ada").id}
    assert people.accounts.list_users()[1] == 1


def test_a_disabled_user_is_refused(people: Any, issuer: ExternalIssuer) -> None:
    issuer.verify(signed())
    people.accounts.set_disabled(LOCAL_USER, "ext:auth0|Ada", disabled=True)
    assert issuer.verify(signed()) is None


@pytest.mark.row("Z3")
@pytest.mark.parametrize(
    ("named", "scopes"),
    [
        ({}, None),
        ({"scope": "openid profile"}, None),
        ({"scope": "openid AccessCatalog"}, {Action.ACCESS_CATALOG}),
        ({"scp": ["AccessCatalog", "EditCatalog", 7, ["x"]]}, {Action.ACCESS_CATALOG, Action.EDIT_CATALOG}),
        ({"scope": {"odd": 1}}, None),
    ],
)
def test_scopes_narrow_where_they_name_permissions_of_ours(
    issuer: ExternalIssuer, named: dict[str, Any], scopes: Any
) -> None:
    found = issuer.verify(signed(**named))
    assert found is not None
    assert found[1] == scopes


@pytest.mark.parametrize(
    ("key", "algorithm"), [(RSA_KEY, "RS256"), (EC_KEY, "ES256"), (ED_KEY, "EdDSA")], ids=["rsa", "ec", "ed"]
)
def test_keys_of_every_kind_are_taken(issuer: ExternalIssuer, key_server: KeyServer, key: Any, algorithm: str) -> None:
    key_server.keys = [
        {"kty": "odd"},
        {"kty": "oct", "k": "AAAA", "kid": "h"},
        published(OTHER_RSA_KEY, "other"),
        published(key, "this"),
    ]
    assert issuer.verify(signed(key, algorithm, "this")) is not None


def now() -> int:
    return int(time.time())


BAD_TOKENS: dict[str, Callable[[], str]] = {
    "wrong audience": lambda: signed(aud="somebody else"),
    "no audience": lambda: signed(aud=None),
    "wrong issuer": lambda: signed(iss="https://evil.example.org"),
    "no issuer": lambda: signed(iss=None),
    "expired": lambda: signed(exp=now() - 60),
    "expired a moment ago": lambda: signed(exp=now() - 1),
    "no expiry": lambda: signed(exp=None),
    "expiry beyond all time": lambda: signed(exp=10**30),
    "odd expiry": lambda: by_hand(
        {"alg": "RS256", "kid": "one"},
        claims(exp=float("inf")),
        lambda text: RSAAlgorithm(RSAAlgorithm.SHA256).sign(text, RSA_KEY),
    ),
    "not yet valid": lambda: signed(nbf=now() + 300),
    "issued in the future": lambda: signed(iat=now() + 300),
    "another key": lambda: signed(OTHER_RSA_KEY),
    "unknown key id": lambda: signed(kid="unknown"),
    "no user": lambda: signed(sub=None),
    "empty user": lambda: signed(sub=""),
    "user that is a number": lambda: by_hand(
        {"alg": "RS256", "kid": "one"},
        claims(sub=7),
        lambda text: RSAAlgorithm(RSAAlgorithm.SHA256).sign(text, RSA_KEY),
    ),
    "user with a line break": lambda: signed(sub="a\nb"),
    "user too long": lambda: signed(sub="x" * 201),
    "alg none": lambda: by_hand({"alg": "none", "kid": "one"}, claims()),
    "alg None": lambda: by_hand({"alg": "None", "kid": "one"}, claims()),
    "no alg": lambda: by_hand({"kid": "one"}, claims()),
    "alg list": lambda: by_hand({"alg": ["RS256"], "kid": "one"}, claims()),
    "HS256 with the public key as its secret": lambda: by_hand(
        {"alg": "HS256", "kid": "one"},
        claims(),
        lambda text: hmac.new(PUBLIC_PEM, text, hashlib.sha256).digest(),
    ),
    "an algorithm that is not allowed": lambda: signed(algorithm="RS512"),
    "an algorithm of another kind of key": lambda: signed(EC_KEY, "ES256"),
    "key in the header": lambda: jwt.encode(
        claims(), OTHER_RSA_KEY, "RS256", headers={"kid": "one", "jwk": published(OTHER_RSA_KEY, "one")}
    ),
    "payload changed": lambda: ".".join(
        [signed().split(".")[0], by_hand({}, claims(sub="root")).split(".")[1], signed().split(".")[2]]
    ),
    "signature cut off": lambda: signed().rpartition(".")[0] + ".",
    "key id that is a number": lambda: by_hand({"alg": "RS256", "kid": 7}, claims()),
    "header too deep": lambda: base64.urlsafe_b64encode(b"[" * 6000).decode() + ".e30.e30",
    "payload that is a list": lambda: by_hand(
        {"alg": "RS256", "kid": "one"}, [], lambda text: RSAAlgorithm(RSAAlgorithm.SHA256).sign(text, RSA_KEY)
    ),
    "too long": lambda: signed(filler="x" * 20_000),
    "not a token": lambda: "not.a.token",
    "dots": lambda: "..",
    "half characters": lambda: "\ud800.\ud800.\ud800",
    "nothing": lambda: "",
}


def test_a_bad_token_is_nobodys(people: Any, issuer: ExternalIssuer) -> None:
    for kind, make in BAD_TOKENS.items():
        assert issuer.verify(make()) is None, kind
    assert people.accounts.is_empty()
    assert issuer.verify(signed()) is not None


def test_a_key_that_is_too_short_to_be_safe_is_not_taken(issuer: ExternalIssuer, key_server: KeyServer) -> None:
    key_server.keys = [published(SMALL_RSA_KEY, "one")]
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = signed(SMALL_RSA_KEY)
    assert issuer.verify(token) is None


def test_a_key_is_used_for_what_it_is_published_for(issuer: ExternalIssuer, key_server: KeyServer) -> None:
    key_server.keys = [published(RSA_KEY, "one", alg="RS512"), published(RSA_KEY, "two", use="enc")]
    assert issuer.verify(signed(kid="one")) is None
    assert issuer.verify(signed(kid="two")) is None


def test_a_token_without_a_key_id_is_checked_by_the_only_key(
    new_issuer: Callable[..., ExternalIssuer], key_server: KeyServer
) -> None:
    assert new_issuer().verify(signed(kid=None)) is not None
    key_server.keys.append(published(EC_KEY, "two"))
    assert new_issuer().verify(signed(kid=None)) is None


def test_another_claim_can_name_the_user(new_issuer: Callable[..., ExternalIssuer]) -> None:
    found = new_issuer(user_claim="email").verify(signed(email="ada@example.org"))
    assert found is not None
    assert found[0].name == "ext:ada@example.org"


@pytest.mark.parametrize("mood", ["garbage", "other form", "list", "deep", "500"])
def test_an_address_that_gives_no_keys_lets_nobody_in(
    issuer: ExternalIssuer, key_server: KeyServer, mood: str, caplog: pytest.LogCaptureFixture
) -> None:
    key_server.mood = mood
    assert issuer.verify(signed()) is None
    assert issuer.verify(signed()) is None
    assert key_server.requests == 1
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1


def test_an_address_that_is_slow_holds_nobody_for_long(
    issuer: ExternalIssuer, key_server: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_issuer, "FETCH_TIMEOUT_S", 0.2)
    key_server.mood = "hang"
    assert issuer.verify(signed()) is None
    assert issuer.verify(signed()) is None


def test_an_address_where_nobody_listens_lets_nobody_in(new_issuer: Callable[..., ExternalIssuer]) -> None:
    assert new_issuer(jwks_url="http://127.0.0.1:1/keys.json").verify(signed()) is None


@pytest.fixture
def keys(place: Any, key_server: KeyServer) -> Iterator[PublishedKeys]:
    keys = PublishedKeys(key_server.keys_url, monotonic=place.clock.monotonic)
    yield keys
    keys.close()


def test_keys_are_fetched_again_after_a_while_or_for_an_unknown_one_but_not_too_often(
    place: Any, keys: PublishedKeys, key_server: KeyServer
) -> None:
    asked = []
    for seconds, kid in ((0, "one"), (599, "one"), (2, "one"), (29, "new"), (1, "new"), (29, "new"), (1, "new")):
        place.clock.advance(seconds)
        keys.find(kid)
        asked.append(key_server.requests)
    assert asked == [1, 1, 2, 2, 3, 3, 4]
    key_server.keys.append(published(OTHER_RSA_KEY, "new"))
    place.clock.advance(30)
    assert keys.find("new") is not None
    assert keys.find("one") is not None


def test_keys_are_kept_for_an_hour_while_their_address_is_away(
    place: Any, keys: PublishedKeys, key_server: KeyServer
) -> None:
    assert keys.find("one") is not None
    key_server.mood = "500"
    place.clock.advance(3500)
    assert keys.find("one") is not None
    place.clock.advance(200)
    assert keys.find("one") is None
    key_server.mood = "well"
    place.clock.advance(30)
    assert keys.find("one") is not None


def test_a_key_that_is_no_longer_published_is_no_longer_taken(
    place: Any, keys: PublishedKeys, key_server: KeyServer
) -> None:
    assert keys.find("one") is not None
    key_server.keys = [published(OTHER_RSA_KEY, "two")]
    place.clock.advance(601)
    assert keys.find("one") is None


def test_whoever_comes_while_keys_are_fetched_uses_those_that_are_there(
    place: Any, keys: PublishedKeys, key_server: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert keys.find("one") is not None
    monkeypatch.setattr(external_issuer, "FETCH_TIMEOUT_S", 600)
    key_server.mood = "hang"
    place.clock.advance(601)
    thread = threading.Thread(target=keys.find, args=("one",))
    thread.start()
    wait_until(lambda: key_server.requests == 2)
    assert keys.find("one") is not None
    key_server.come_to_itself()
    thread.join()


def test_settings_that_cannot_work_are_refused(new_issuer: Callable[..., ExternalIssuer]) -> None:
    for changes, message in (
        ({"audience": ""}, "'auth': 'audience' is missing"),
        ({"jwks_url": ""}, "'jwks_url' is missing"),
        ({"jwks_url": "file:///etc/passwd"}, "must begin with https"),
        ({"jwks_url": "https://"}, "must begin with https"),
    ):
        with pytest.raises(InputError) as caught:
            new_issuer(**changes)
        assert message in caught.value.message


@pytest.fixture
def control(place: Any, key_server: KeyServer, tmp_path: Path) -> Iterator[Control]:
    auth = AuthSettings(issuer=ISSUER, audience=AUDIENCE, jwks_url=key_server.keys_url, default_role="editor")
    control = Control.open(Settings(home=tmp_path, control=ControlSettings(url=place.url), auth=auth))
    yield control
    control.close()


@pytest.mark.row("Z3")
def test_the_directory_knows_who_comes_with_a_bearer_token(control: Control, key_server: KeyServer) -> None:
    token = signed(scope="AccessCatalog RequestContent ServerAdmin")
    assert control.identities.recall(token) is None
    first = control.identities.identify(token)  # makes their account, after which everybody is looked up anew
    identity = control.identities.identify(token)
    assert identity is not None
    assert identity == first
    assert control.identities.recall(token) is identity
    assert identity.principal.name == "ext:auth0|Ada"
    assert identity.principal.actions == {Action.ACCESS_CATALOG, Action.REQUEST_CONTENT}
    assert control.identities.identify("not.a.token") is None


@pytest.mark.row("Z3")
def test_whoever_came_with_a_bearer_token_holds_until_their_rights_change(control: Control) -> None:
    identity = control.identities.identify(signed(scope="AccessCatalog"))
    other = control.identities.identify(signed(sub="Bob"))
    assert identity is not None
    assert other is not None
    control.access.restrict(LOCAL_USER, "letters", users=["ext:auth0|Ada"])
    assert control.identities.refresh()
    now, others = control.identities.current([identity, other])
    assert (now == identity, others == other) == (True, False)
    control.accounts.set_disabled(LOCAL_USER, "ext:auth0|Ada", disabled=True)
    assert control.identities.refresh()
    assert control.identities.current([identity]) == [None]


def test_an_issuers_users_have_no_password_here(control: Control) -> None:
    control.identities.identify(signed())
    with pytest.raises(Exception, match="logs in at an external issuer"):
        control.accounts.set_password(LOCAL_USER, "ext:auth0|Ada", "correct horse")
    assert control.accounts.check_login("ext:auth0|Ada", "correct horse") is None


def test_a_bearer_tokens_signature_is_looked_at_again(people: Any, issuer: ExternalIssuer) -> None:
    directory = people.new_identity_cache(external=issuer)
    token = signed(exp=4_102_444_800)
    directory.identify(token)
    directory.refresh()
    identity = directory.identify(token)
    for _ in range(3):
        people.clock.advance(100)
        directory.refresh()
        assert directory.recall(token) is identity
    people.clock.advance(1)
    directory.refresh()
    assert directory.recall(token) is None
    assert directory.identify(token) is not None


@pytest.mark.parametrize("mood", ["garbage", "500"])
def test_what_is_logged_of_the_keys_address_has_no_secret(
    new_issuer: Callable[..., ExternalIssuer], key_server: KeyServer, mood: str, caplog: pytest.LogCaptureFixture
) -> None:
    key_server.mood = mood
    assert new_issuer(jwks_url=f"{key_server.keys_url}?api_key=hunter22").verify(signed()) is None
    assert "127.0.0.1" in caplog.text
    assert "hunter22" not in caplog.text
