"""Who asks too often is told apart more slowly, and what they may is looked at after the wait."""

import anyio

from pinakes.model.principal import LOCAL_USER, Identity
from pinakes.serve.brake import Brake
from pinakes.serve.http.authenticate import Authenticator

IDENTITY = Identity(principal=LOCAL_USER, credential_id="1", expires_at=None)
ENDLESS_S = 60.0


class Secrets:
    """Implements `Identities`."""

    def __init__(self) -> None:
        self.known = {"secret": IDENTITY}

    def recall(self, secret: str) -> Identity | None:
        return self.known.get(secret)

    def identify(self, secret: str) -> Identity | None:
        return self.known.get(secret)


def test_whoever_was_refused_waits_before_anything_is_done_for_them() -> None:
    brake = Brake(pause_s=ENDLESS_S, longest_s=ENDLESS_S)
    authenticator = Authenticator(Secrets(), base_url=lambda _headers: "", brake=brake)

    async def talk() -> None:
        with anyio.fail_after(5):
            assert await authenticator.identify_secret("secret") == IDENTITY
        brake.note(LOCAL_USER.name, is_refused=True)
        with anyio.move_on_after(0.05) as waiting:
            await authenticator.identify_secret("secret")
        assert waiting.cancelled_caught

    anyio.run(talk)


def test_a_secret_that_is_revoked_during_the_wait_is_no_longer_known() -> None:
    brake, secrets = Brake(pause_s=ENDLESS_S, longest_s=0.05), Secrets()
    authenticator = Authenticator(secrets, base_url=lambda _headers: "", brake=brake)
    brake.note(LOCAL_USER.name, is_refused=True)
    found: list[Identity | None] = []

    async def identify() -> None:
        found.append(await authenticator.identify_secret("secret"))

    async def talk() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(identify)
            await anyio.wait_all_tasks_blocked()
            secrets.known.clear()

    anyio.run(talk)
    assert found == [None]
