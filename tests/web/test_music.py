"""Listening in the page: what plays and is sought, the queue, likes and playlists, by eye, by keys
and on a phone.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mutagen.id3 import USLT
from mutagen.wave import WAVE
from playwright.sync_api import Locator, Page, expect

from support.browsing import PHONE, Visit

pytestmark = pytest.mark.row("Z16", "Z17")

SATIE = "Gymnopédie No. 1: Lent et douloureux"
RAG = "The Entertainer"
DANUBE = "The Blue Danube"
ALBUM = "/music/album?id=album-satie-gymnopedies"
WATCH = """
const Plain = window.Audio;
const sounds = window.sounds = [];
window.Audio = function () { return sounds[sounds.push(new Plain()) - 1]; };
const latest = () =>
  sounds.find((one) => !one.paused) ?? sounds.find((one) => one.src) ?? sounds[0];
Object.defineProperty(window, "sound", {get: latest});
window.mediaKeys = {};
const put = MediaSession.prototype.setActionHandler;
MediaSession.prototype.setActionHandler = function (name, work) {
  window.mediaKeys[name] = work;
  put.call(this, name, work);
};
"""
PLAYS = (
    "([title, at]) => navigator.mediaSession.metadata?.title === title && sound.currentTime > at &&"
    " !sound.paused"
)

Listen = Callable[..., Visit]


@pytest.fixture
def listen(visit: Callable[..., Visit]) -> Listen:
    """Start visits that let the test see the page's sound and press media keys."""

    def start(**given: Any) -> Visit:
        return visit(script=WATCH, **given)

    return start


def wait_playing(visit: Visit, title: str, at: float = 0.0) -> None:
    visit.wait_until(PLAYS, [title, at])


def player(page: Page) -> Locator:
    return page.get_by_role("region", name="Player")


def queued(page: Page) -> Locator:
    return page.get_by_role("list", name="Queue").get_by_role("listitem")


def press(locator: Locator, name: str) -> None:
    locator.get_by_role("button", name=name, exact=True).click()


def test_an_album_plays_on_while_the_page_changes_is_sought_paused_and_resumed_after_a_reload(
    listen: Listen,
) -> None:
    visit = listen()
    answers: list[int] = []
    visit.page.on(
        "response", lambda reply: answers.append(reply.status) if "/audio/" in reply.url else None
    )
    page = visit.open(ALBUM)
    expect(page.get_by_text("2 tracks are known by name only")).to_be_visible()
    expect(page.get_by_role("button", name="Play Gymnopédie No. 2: Lent et triste")).to_have_count(
        0
    )
    press(page.locator("main"), "Play")
    wait_playing(visit, SATIE, 0.2)
    assert answers[0] == 206
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Catalogues").click()
    expect(page).to_have_url(f"{visit.origin}/")
    wait_playing(visit, SATIE, 0.4)
    page.locator("main").get_by_role("link", name="Music", exact=True).click()
    box = page.get_by_role("group", name="Genres").get_by_role("checkbox").first
    box.press(" ")
    expect(box).to_be_checked()
    slider = player(page).get_by_role("slider", name="Position")
    slider.fill("6")
    wait_playing(visit, SATIE, 6)
    assert page.evaluate("navigator.mediaSession.playbackState") == "playing"
    slider.press(" ")
    visit.wait_until("() => sound.paused")
    paused_at = page.evaluate("sound.currentTime")
    assert 6 < paused_at < page.evaluate("sound.duration")
    page.reload()
    press(player(page), "Play")
    wait_playing(visit, SATIE, paused_at - 0.5)
    visit.check_access()
    press(player(page), "Close the player")
    expect(player(page)).to_have_count(0)


def test_a_queue_takes_tracks_obeys_keys_and_goes_on_with_what_is_similar(listen: Listen) -> None:
    visit = listen()
    page = visit.open("/music/album?id=album-joplin-the-entertainer")
    press(page.locator("main"), "Play")
    wait_playing(visit, RAG)
    page.get_by_role("link", name="Home").click()
    ready = page.get_by_role("list", name="Ready to play")
    press(ready, f"More for {DANUBE}")
    press(page.get_by_role("dialog"), "Add to the queue")
    press(ready, f"More for {SATIE}")
    press(page.get_by_role("dialog"), "Play next")
    player(page).get_by_role("link", name="Queue").click()
    expect(queued(page).locator(".name")).to_have_text([RAG, SATIE, DANUBE])
    press(page, f"Move {DANUBE} up")
    expect(queued(page).locator(".name")).to_have_text([RAG, DANUBE, SATIE])
    expect(page.get_by_role("button", name=f"Move {DANUBE} up")).to_be_focused()
    page.locator("body").press("n")
    wait_playing(visit, DANUBE)
    page.evaluate("mediaKeys.nexttrack()")
    wait_playing(visit, SATIE)
    page.locator("body").press("p")
    wait_playing(visit, DANUBE)
    press(page, f"Remove {SATIE}")
    expect(page.get_by_role("button", name=f"Remove {DANUBE}")).to_be_focused()
    with visit.late("**/v1/player?list=similar*") as count_asked:
        page.evaluate("void mediaKeys.nexttrack()")
        page.evaluate("void mediaKeys.nexttrack()")
        assert count_asked() == 1
        press(page.get_by_role("list", name="Queue"), f"Play {RAG}")
        wait_playing(visit, RAG)
    # what was found for another place came late
    expect(queued(page).locator(".name")).to_have_text([RAG, DANUBE])
    wait_playing(visit, RAG)
    page.evaluate("mediaKeys.nexttrack()")
    wait_playing(visit, DANUBE)
    page.evaluate("mediaKeys.seekto({seekTime: sound.duration - 0.3})")
    expect(queued(page).get_by_text("similar").first).to_be_visible()
    visit.wait_until("() => sound.currentTime > 0.2 && !sound.paused")
    assert page.evaluate("navigator.mediaSession.metadata.title") not in (RAG, DANUBE)
    page.locator("body").press("?")
    expect(page.get_by_role("dialog").get_by_text("play or pause")).to_be_visible()
    page.keyboard.press("Escape")
    press(page, "Clear")
    expect(page.get_by_text("The queue is empty")).to_be_visible()


def test_likes_and_playlists_are_kept_and_a_saved_search_is_run_anew(listen: Listen) -> None:
    visit = listen(allowed=("403",))
    page = visit.open("/music/tracks")
    heart = page.get_by_role("button", name=re.compile("^Like ")).first
    name = str(heart.get_attribute("aria-label")).removeprefix("Like ")
    refusal = {"error": {"code": "forbidden", "message": "You may keep no likes."}}
    page.route("**/v1/likes/**", lambda route: route.fulfill(status=403, json=refusal), times=1)
    heart.click()
    expect(page.get_by_text("You may keep no likes.")).to_be_visible()
    expect(heart).to_have_attribute("aria-pressed", "false")
    heart.click()
    expect(heart).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="Likes").click()
    expect(page.get_by_role("list", name="Tracks").get_by_text(name, exact=True)).to_be_visible()
    box = page.get_by_role("searchbox")
    box.fill("gymnopédie ")
    expect(page.get_by_role("button", name="Save as a playlist")).to_be_visible()
    page.keyboard.type("1")
    expect(box).to_have_value("gymnopédie 1")
    box.fill("gymnopédie")
    expect(page).to_have_url(re.compile("q=gymnop[^+]*$"))
    press(page, "Save as a playlist")
    press(page.get_by_role("dialog"), "Save")
    page.get_by_role("link", name="Playlists").click()
    page.get_by_role("link", name="gymnopédie", exact=True).click()
    expect(page.get_by_role("list", name="Tracks").locator(".name").first).to_have_text(SATIE)
    press(page.locator("main"), "Play")
    wait_playing(visit, SATIE)
    press(page, f"More for {SATIE}")
    press(page.get_by_role("dialog"), "Add to a new playlist …")
    page.get_by_label("Name", exact=True).fill("<b>Evening</b>")
    press(page.get_by_role("dialog"), "Save")
    page.get_by_role("link", name="Playlists").click()
    page.get_by_role("link", name="<b>Evening</b>", exact=True).click()
    expect(page.get_by_role("list", name="Tracks").locator(".name")).to_have_text([SATIE])
    press(page.locator("main"), "Rename")
    page.get_by_label("Name", exact=True).fill("Late")
    press(page.get_by_role("dialog"), "Save")
    expect(page.get_by_role("heading", name="Late")).to_be_visible()
    press(page.locator("main"), "Delete")
    expect(page.get_by_role("link", name="Late", exact=True)).to_have_count(0)
    press(page, "Undo")
    expect(page.get_by_role("link", name="Late", exact=True)).to_be_visible()
    visit.check_access()


def test_a_search_is_seen_as_a_queue_and_what_cannot_be_played_says_so(listen: Listen) -> None:
    visit = listen(width=PHONE, scheme="dark", allowed=("ERR_FAILED",))
    page = visit.open("/c/music?view=queue")
    ready = page.request.get(
        f"{visit.origin}/v1/player?list=tracks&playable=true&limit=100"
    ).json()["tracks"]["items"]
    assert len(ready) > 5
    expect(page.get_by_role("list", name="Found").get_by_role("listitem")).to_have_count(len(ready))
    page = visit.open("/c/music?q=gymnopédie&f.kind=track&view=queue")
    expect(page.get_by_role("list", name="Found").locator(".name")).to_have_text([SATIE])
    page.route("**/audio/**", lambda route: route.abort())
    press(page.get_by_role("list", name="Found"), f"Play {SATIE}")
    expect(player(page).get_by_text("This track could not be played here.")).to_be_visible()
    page.unroute("**/audio/**")
    visit.check_access()
    page = visit.open("/music/albums")
    page.get_by_role("button", name=re.compile("^Play 24 Preludes")).click()
    expect(page.get_by_text("There is no file to play here.")).to_be_visible()
    page.get_by_role("link", name=re.compile("^24 Preludes")).last.click()
    expect(page.get_by_text("These tracks are known by name only")).to_be_visible()
    expect(page.locator("main").get_by_role("button", name="Play", exact=True)).to_be_disabled()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    visit.check_access()


def test_volume_shuffle_and_repeat_are_chosen_and_kept(listen: Listen) -> None:
    one = listen()
    page = one.open(ALBUM)
    press(page.get_by_role("main"), "Play")
    wait_playing(one, SATIE)
    expect(player(page)).to_be_visible()
    player(page).get_by_label("Volume").fill("0.4")
    assert page.evaluate("sound.volume") == pytest.approx(0.4)
    press(player(page), "Mute")
    assert page.evaluate("sound.muted")
    press(player(page), "Unmute")
    press(player(page), "Repeat")
    press(player(page), "Repeat one track")
    page.evaluate("sound.currentTime = sound.duration - 0.2")
    one.wait_until("() => sound.currentTime < 2 && !sound.paused")
    wait_playing(one, SATIE)
    press(player(page), "Repeat nothing")
    press(player(page), "Shuffle")
    expect(player(page).get_by_role("button", name="Shuffle")).to_have_attribute(
        "aria-pressed", "true"
    )
    one.check_access()
    page.reload()
    expect(player(page).get_by_label("Volume")).to_have_value("0.4")
    expect(player(page).get_by_role("button", name="Shuffle")).to_have_attribute(
        "aria-pressed", "true"
    )
    press(player(page), "Shuffle")
    page.goto(f"{one.origin}/music/queue")
    expect(queued(page).first).to_contain_text(SATIE)


def test_the_next_track_is_loaded_before_the_last_one_ends_and_home_continues_it(
    listen: Listen,
) -> None:
    one = listen()
    page = one.open("/music")
    page.get_by_role("list", name="Ready to play").get_by_role(
        "button", name=re.compile("^Play ")
    ).first.click()
    one.wait_until("() => window.sound?.currentTime > 0")
    first = page.evaluate("navigator.mediaSession.metadata.title")
    one.wait_until("() => sounds.length === 2 && sounds[1].readyState > 1 && sounds[1].paused")
    page.evaluate("sound.currentTime = Math.max(0, sound.duration - 1)")
    one.wait_until(
        "(title) => navigator.mediaSession.metadata.title !== title && !sounds[1].paused", first
    )
    press(player(page), "Pause")
    page.get_by_role("navigation", name="Music").get_by_role("link", name="Home").click()
    expect(page.get_by_role("button", name=re.compile("Continue with"))).to_be_visible()
    page.get_by_role("list", name="By mood and genre").get_by_role(
        "link", name="orchestral"
    ).click()
    expect(page.get_by_role("searchbox")).to_have_value("orchestral")


def test_home_goes_on_with_the_albums_heard_last_and_lyrics_of_a_tagged_file_follow_the_music(
    listen: Listen, page_home: Path
) -> None:
    one = listen()
    page = one.open(ALBUM)
    file = page_home / "catalogues" / "music" / "media" / "track-satie-gymnopedies-01.wav"
    plain = file.read_bytes()
    tags = WAVE(file)
    tags.add_tags()
    tags.tags.add(
        USLT(encoding=3, lang="eng", desc="", text="[00:00.00]Slow\n[00:06.00]and painful")
    )
    tags.save()
    press(page.get_by_role("main"), "Play")
    wait_playing(one, SATIE)
    player(page).get_by_role("slider", name="Position").fill("7")
    wait_playing(one, SATIE, 7)
    press(player(page), "Lyrics")
    lyrics = page.get_by_role("dialog").get_by_role("region", name="Lyrics")
    expect(lyrics.locator("[aria-current]")).to_have_text("and painful")
    one.check_access()
    file.write_bytes(plain)
    page.keyboard.press("Escape")
    press(player(page), "Close the player")
    played = {"track_id": "track-satie-gymnopedies-01", "seconds": 10.0}
    assert page.request.post(f"{one.origin}/v1/plays", data=played).status == 204
    page.get_by_role("navigation", name="Music").get_by_role("link", name="Home").click()
    expect(
        page.get_by_role("list", name="Continue listening").get_by_role("link").first
    ).to_be_visible()
    page.get_by_role("list", name="Ready to play").get_by_role(
        "button", name=f"More for {SATIE}"
    ).click()
    press(page.get_by_role("dialog"), "Lyrics")
    expect(page.get_by_text("There are no lyrics in its file.")).to_be_visible()
