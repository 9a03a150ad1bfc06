"""Music to test with: real audio files in every format, a small library of them, and a way to ask
for it.
"""

import base64
import io
import json
import re
import struct
import wave
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mutagen
import numpy as np
import pytest
import soundfile
from mutagen import id3
from mutagen.easyid3 import EasyID3
from mutagen.easymp4 import EasyMP4Tags
from mutagen.flac import FLAC, Picture
from mutagen.mp4 import MP4, MP4Cover

from stackroom.assembly.app import App
from stackroom.assembly.serving import ToolChoice
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.gate.answer import Answer
from stackroom.gate.gate import Gate
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.principal import LOCAL_USER
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.sources.port import RowSource
from stackroom_catalogues.music.tags import read_tags
from support.libraries import add_package, copy_samples
from support.texts import require_fitting, values_missing_from_text

EasyMP4Tags.RegisterTextKey("composer", "\xa9wrt")
RATE = 8_000
JPEG = b"\xff\xd8\xff\xe0" + b"a picture " * 20
PNG = b"\x89PNG\r\n\x1a\n" + b"another one " * 20


def sound(seconds: float) -> np.ndarray[Any, Any]:
    """Return a tone."""
    samples: np.ndarray[Any, Any] = (0.3 * np.sin(np.arange(int(RATE * seconds)) / 5)).astype(
        np.float32
    )
    return samples


def wav_file(seconds: float) -> bytes:
    """Return a WAV file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((sound(seconds) * 32_767).astype("<i2").tobytes())
    return buffer.getvalue()


def m4a_file(seconds: float) -> bytes:
    """Return the frame of an M4A file: everything but the sound."""

    def box(name: bytes, *parts: bytes) -> bytes:
        body = b"".join(parts)
        return struct.pack(">I4s", 8 + len(body), name) + body

    whole = bytes(4)  # version and flags
    duration = int(seconds * 1000)
    head = box(b"mdhd", whole, struct.pack(">IIIIHH", 0, 0, 1000, duration, 0x55C4, 0))
    handler = box(b"hdlr", whole, bytes(4), b"soun", bytes(12), b"\0")
    media = box(b"mdia", head, handler, box(b"minf", box(b"stbl")))
    movie = box(b"mvhd", whole, struct.pack(">IIII", 0, 0, 1000, duration), bytes(80))
    return (
        box(b"ftyp", b"M4A ", bytes(4), b"M4A mp42isom")
        + box(b"moov", movie, box(b"trak", media))
        + box(b"mdat")
    )


def audio_file(ending: str, seconds: float) -> bytes:
    """Return an audio file without tags."""
    if ending in ("wav", "m4a"):
        return wav_file(seconds) if ending == "wav" else m4a_file(seconds)
    buffer = io.BytesIO()
    container, coding = {"mp3": ("MP3", None), "flac": ("FLAC", None), "opus": ("OGG", "OPUS")}.get(
        ending, ("OGG", "VORBIS")
    )
    soundfile.write(buffer, sound(seconds), RATE, format=container, subtype=coding)
    return buffer.getvalue()


@dataclass
class AudioFolder:
    """A folder that audio files are put into."""

    path: Path
    read: list[str] = field(default_factory=list)  # the files whose tags were read, by name
    _plain: dict[tuple[str, float], bytes] = field(default_factory=dict)

    def add(
        self, name: str, *, seconds: float = 1.0, cover: bytes | None = None, **tags: Any
    ) -> Path:
        """Write a tagged file; the format is that of its ending, and tags have Vorbis names."""
        path = self.path / name
        ending = path.suffix[1:]
        if (ending, seconds) not in self._plain:
            self._plain[ending, seconds] = audio_file(ending, seconds)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self._plain[ending, seconds])
        if tags or cover:
            write_tags(path, tags, cover)
        return path

    def retag(self, name: str, **tags: Any) -> None:
        """Change the tags of a file."""
        write_tags(self.path / name, tags, None)

    def read_counted(self, path: Path) -> dict[str, Any]:
        """Read the tags of a file, and note it."""
        self.read.append(path.name)
        return read_tags(path)


def write_tags(path: Path, tags: Mapping[str, Any], cover: bytes | None) -> None:
    """Write tags of Vorbis names into a file of any format."""
    audio, frames = mutagen.File(path, easy=True), EasyID3()
    if audio.tags is None:
        audio.add_tags()
    # a WAV file has no easy form
    target = frames if path.suffix == ".wav" else audio.tags
    for name, value in tags.items():
        listed = value if isinstance(value, list | tuple) else [value]
        if (name, path.suffix) != ("compilation", ".m4a"):
            target[name] = [str(one) for one in listed]
    if target is frames:
        frames.save(path.with_suffix(".id3"))
        audio.tags.update(id3.ID3(path.with_suffix(".id3")))
        path.with_suffix(".id3").unlink()
    audio.save()
    audio = mutagen.File(path)
    if "compilation" in tags and path.suffix == ".m4a":
        audio.tags["cpil"] = True
    if cover:
        _add_cover(audio, cover)
    audio.save()


def _add_cover(audio: Any, cover: bytes) -> None:
    picture = Picture()
    picture.type, picture.data = 3, cover
    if isinstance(audio.tags, id3.ID3):
        audio.tags.add(id3.APIC(encoding=3, mime="image/jpeg", type=3, desc="", data=cover))
    elif isinstance(audio, MP4):
        audio.tags["covr"] = [MP4Cover(cover)]
    elif isinstance(audio, FLAC):
        audio.add_picture(picture)
    else:
        audio.tags["metadata_block_picture"] = [base64.b64encode(picture.write()).decode()]


@pytest.fixture
def audio(tmp_path: Path) -> AudioFolder:
    """An empty music folder."""
    folder = tmp_path / "music files"
    folder.mkdir()
    return AudioFolder(folder)


@pytest.fixture(scope="session")
def pictures() -> tuple[bytes, bytes]:
    """Two pictures, a JPEG and a PNG, as far as their beginnings say."""
    return JPEG, PNG


@dataclass(frozen=True, kw_only=True)
class MusicHome:
    """A library with one music catalogue, and how to ask for it."""

    app: App
    name: str = "music"

    def add(self, source: RowSource | str | Path) -> IngestReport:
        """Bring the catalogue up to a source or a location."""
        return add_package(
            self.app, "music", source, name=self.name, embed=not self.app.settings.offline
        )

    @property
    def folder(self) -> Path:
        """Where the catalogue is."""
        return self.app.library.get_installed(self.name).folder

    @property
    def gate(self) -> Gate:
        """A gate with the catalogue's own tools."""
        return self.app.build_gate([self.name], tools=ToolChoice.OWN)

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool; what it answers must be as it declares."""
        gate = self.gate
        answer = gate.call(LOCAL_USER, tool, arguments)
        if not answer.is_error:
            require_fitting(
                answer.structured, gate.toolbox_of(LOCAL_USER).tools[tool].output_schema
            )
            assert values_missing_from_text(answer.structured, answer.text) == []
        return answer

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must answer."""
        answer = self.call(f"catalog.{tool}", **arguments)
        assert answer.structured is not None, answer.text
        return answer.structured

    def refusal(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must refuse."""
        answer = self.call(f"catalog.{tool}", **arguments)
        assert answer.is_error
        return answer.text


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MusicHome]:
    """An empty library, without vectors."""
    app = App(Settings(home=tmp_path / "home", offline=True))
    yield MusicHome(app=app)
    app.close()


@pytest.fixture(scope="session")
def sample_music(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusicHome]:
    """A library with the sample, without vectors."""
    app = App(
        Settings(home=copy_samples(tmp_path_factory.mktemp("sample-music"), "music"), offline=True)
    )
    yield MusicHome(app=app)
    app.close()


MEANT_ARTISTS = re.compile(
    '"artist-[a-z-]*(beethoven|brahms|chopin|debussy|dvorak|hensel|joplin|liszt|mendelssohn|mozart|saint-saens|satie|'
    'schubert|schumann|tchaikovsky)"'
)


@pytest.fixture(scope="session")
def meant_music(
    models_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MusicHome]:
    """A library with a third of the sample, four tracks of an album at most, with the real
    model.
    """
    folder = tmp_path_factory.mktemp("meant-music")
    (folder / "models").symlink_to(models_folder, target_is_directory=True)
    app = App(Settings(home=folder))
    music = MusicHome(app=app)
    lines = filter(
        MEANT_ARTISTS.search, Path(builtin_sample()).read_text(encoding="utf-8").splitlines()
    )
    (folder / "part.jsonl").write_text(
        "\n".join(one for one in lines if json.loads(one).get("position", 1) <= 4)
    )
    music.add(folder / "part.jsonl")
    yield music
    app.close()


def builtin_sample() -> str:
    """Return where the sample is."""
    return str(PACKAGES.get("music").samples[0].files)


@pytest.fixture(scope="session")
def music_spec() -> CatalogueSpec:
    """The music catalogue's declaration."""
    return PACKAGES.get("music").spec


@pytest.fixture(scope="session")
def chinook(shared_data: Path) -> Path:
    """The Chinook database."""
    path = shared_data / "music" / "chinook.sqlite"
    if not path.is_file():
        pytest.skip(f"it is not here: {path}")
    return path
