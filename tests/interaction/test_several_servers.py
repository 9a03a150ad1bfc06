"""Three servers over one PostgreSQL with a replica: they agree at every call, and outlive the
primary.
"""

from collections.abc import Iterator

import httpx
import pytest

from stackroom.model.principal import LOCAL_USER
from support.cluster import Cluster, open_cluster
from support.libraries import copy_samples
from support.processes import wait_until

pytestmark = pytest.mark.row("N16")

SERVERS = 3
SEARCH = ("/v1/tools/catalog.search", {"query": "nocturne"})


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three servers on a library with the music sample."""
    home = copy_samples(tmp_path_factory.mktemp("several"), "music")
    with open_cluster([home] * SERVERS) as cluster:
        yield cluster


def statuses(clients: list[httpx.Client]) -> list[int]:
    return [client.post(SEARCH[0], json=SEARCH[1]).status_code for client in clients]


def add_user(cluster: Cluster, name: str, *, roles: tuple[str, ...] = ("user",)) -> str:
    cluster.control.accounts.create_user(LOCAL_USER, name, password=None, roles=roles)
    return name


def test_rights_that_change_on_one_server_hold_on_all_at_the_next_call(cluster: Cluster) -> None:
    user = add_user(cluster, "ada")
    admin_secret, _ = cluster.token(add_user(cluster, "root", roles=("admin",)))
    with cluster.clients(admin_secret) as admins:
        for number in range(6):
            secret, token_id = cluster.token(user)
            by = admins[number % SERVERS]
            with cluster.clients(secret) as clients:
                assert statuses(clients) == [200] * SERVERS
                assert by.put("/v1/access/music", json={"users": []}).is_success
                hidden = [client.post(SEARCH[0], json=SEARCH[1]) for client in clients]
                assert {reply.status_code for reply in hidden} == {404}
                assert by.delete("/v1/access/music").is_success
                assert statuses(clients) == [200] * SERVERS
                assert by.delete(f"/v1/tokens/{token_id}").is_success
                assert statuses(clients) == [401] * SERVERS


def test_reads_outlive_the_primary_and_changes_wait_for_a_replica_to_be_promoted(
    cluster: Cluster,
) -> None:
    """Nothing is started again: the servers find the host that can be written."""
    editor, fresh = add_user(cluster, "fay", roles=("editor",)), add_user(cluster, "gil")
    secret, _ = cluster.token(editor)
    revoked, token_id = cluster.token(editor)
    unseen, _ = cluster.token(fresh)
    album = {
        "action": "create",
        "kind": "album",
        "fields": {"name": "Before the storm", "artists": ["Erik Satie"]},
    }
    with (
        cluster.clients(secret) as clients,
        cluster.clients(revoked) as gone,
        cluster.clients(unseen) as strangers,
    ):
        assert statuses(clients) == statuses(gone) == [200] * SERVERS
        cluster.control.credentials.revoke(LOCAL_USER, token_id)
        assert statuses(clients) == [200] * SERVERS
        cluster.databases[0].kill()
        assert statuses(clients) == [200] * SERVERS
        for client in clients:
            wait_until(
                lambda client=client: client.get("/health").json()["status"] == "degraded",
                timeout_s=60,
            )
            assert client.get("/health/ready").status_code == 200  # no balancer takes it out
        refused = [
            *(client.post("/v1/tools/catalog.mutate", json=album) for client in clients),
            *(
                client.post("/v1/login", json={"name": "fay", "password": "correct horse"})
                for client in clients
            ),
            # nobody has seen them before
            *(client.post(SEARCH[0], json=SEARCH[1]) for client in strangers),
        ]
        assert {reply.status_code for reply in refused} == {503}
        assert all(1 <= int(reply.headers["retry-after"]) <= 10 for reply in refused)
        cluster.promote_replica()

        def is_applied(client: httpx.Client) -> bool:
            return client.post("/v1/tools/catalog.mutate", json=album).is_success

        for client in clients:
            wait_until(lambda client=client: is_applied(client), timeout_s=60)
        assert statuses(gone) == [401] * SERVERS
        assert statuses(clients) == statuses(strangers) == [200] * SERVERS
    assert cluster.control.audit.verify().first_problem is None
