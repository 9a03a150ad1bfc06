"""Templates of providers, and names as filesystems take them."""

import pytest

from stackroom.errors import InputError
from stackroom.net.addresses import AddressGuard, AddressRules
from stackroom.net.fetch import Fetcher, FetchLimits
from stackroom_catalogues.music.downloads.manifest import DownloadRequest, component, iter_variants
from stackroom_catalogues.music.downloads.providers import AlbumProviders

pytestmark = pytest.mark.row("Z8")


def provider(manifest: str, name: str = "archive") -> AlbumProviders:
    guard = AddressGuard(AddressRules())
    return AlbumProviders(
        {name: manifest}, guard, Fetcher(guard, limits=FetchLimits(max_bytes=1_000))
    )


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "{artist}/{album}.json",
        "https://{artist}/{album}.json",
        "https://{album}.example.org/a",
        "https://music.example.org{album}",
        "https://music.example.org/{artist}.json",
        "https://music.example.org/{album}/{year}",
        "https://music.example.org/{album.__class__}",
        "https://music.example.org/{album[0]}",
        "https://music.example.org/{album!r}",
        "https://music.example.org/{album:>9}",
        "https://music.example.org/{}",
        "https://music.example.org/{album",
        "https://user:password@music.example.org/{album}",
        "https://music.example.org:8080/{album}",
        "http://localhost/{album}",
        "http://10.0.0.1/{album}",
        "ftp://music.example.org/{album}",
    ],
)
def test_a_template_that_leads_to_no_good_address_is_refused_at_the_start(manifest):
    with pytest.raises(InputError, match=r"'downloads\.providers\.archive'"):
        provider(manifest)


@pytest.mark.parametrize("name", ["url", "", "A", "a b", "a" * 41, "-a"])
def test_a_name_that_no_provider_can_have_is_refused(name):
    with pytest.raises(InputError, match=r"downloads\.providers"):
        provider("https://music.example.org/{album}", name)


@pytest.mark.parametrize(
    "value", ["a/../../b", "a?b#c", "ä ö", "{artist}", "a%2fb", "http://127.0.0.1/", "a\\b"]
)
def test_a_name_is_one_part_of_the_address_whatever_is_in_it(value):
    provider("https://music.example.org/x/{album}.json").require_request(
        DownloadRequest(provider="archive", album=value)
    )


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Water Music", "Water Music"),
        ("AC/DC", "AC_DC"),
        ("..", "Unknown"),
        (" . ", "Unknown"),
        ("", "Unknown"),
        ("a/../b", "a_.._b"),
        (".hidden", "hidden"),
        ("con", "_con"),
        ("NUL.mp3", "_NUL.mp3"),
        ("console", "console"),
        ("a\x00b\nc", "a_b_c"),
        ("a\u202eb\u200bc", "abc"),
        ("\ud800a", "a"),
        ("Dvořák", "Dvořák"),
        ("e\u0301", "é"),
        ("ä" * 100, "ä" * 60),
    ],
)
def test_a_name_becomes_one_safe_component_of_a_path(words, name):
    assert component(words) == name


def test_a_taken_name_has_numbered_variants():
    variants = list(iter_variants("a.b.mp3"))

    assert variants[:3] == ["a.b.mp3", "a.b (2).mp3", "a.b (3).mp3"]
    assert len(set(variants)) == len(variants) == 99
