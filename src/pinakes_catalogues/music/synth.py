"""Short pieces of music for the sample, synthesised from notes: something to play that is nobody's recording.

A piece is a tune in the public domain, written down here as notes, and belongs to one track of `sample/library.jsonl`.
Nobody's performance is copied; the tracks' lengths in the sample are those of the whole works, not of these openings.
Most are the opening of the work, some with plain harmony of our own or closed with a chord where the music goes on.
`render` returns a WAV file: one channel, 16 bits, 22,050 samples a second. The same piece gives the same bytes.

The notes of a voice are words of a text. `C#5:1/2` is a pitch (middle C is `C4`) and its length in beats; a word
without a length has that of the word before it. `-` is a rest, `C3+E3+G3` a chord, and `|` a bar line, of no effect.
"""

import io
import re
import wave
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import NDArray

SAMPLE_RATE = 22_050
PEAK = 0.8
ACCOMPANIMENT = 0.55
ATTACK_S = 0.008
HARMONICS = (1.0, 0.42, 0.22, 0.10, 0.06, 0.03)
SEMITONES = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
ACCIDENTALS = {"": 0, "#": 1, "b": -1}
PITCH = re.compile(r"([A-G])([#b]?)(\d)")

Samples = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One sound: when it begins and how long it is held, in beats, and its frequency."""

    start: Fraction
    beats: Fraction
    frequency_hz: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A tune for a track. The first voice is the melody, and louder than the others.

    `decay_s` is how soon a held note grows faint: short for plucked strings, long for bowed ones. `ring_s` is how long
    a note sounds on after it is let go.
    """

    track_id: str
    beats_a_minute: int
    voices: tuple[str, ...]
    decay_s: float = 0.9
    ring_s: float = 0.25


def file_of(track_id: str) -> str:
    """Return where the sound of a track is kept, in the catalogue's folder."""
    return f"media/{track_id}.wav"


def render(piece: Piece) -> bytes:
    """Return the piece as a WAV file."""
    return _wav_file(mix(piece))


def mix(piece: Piece) -> Samples:
    """Return the samples of the piece, all voices together, the loudest at `PEAK`."""
    beat_s = 60 / piece.beats_a_minute
    voices = [list(read_notes(voice)) for voice in piece.voices]
    end_s = max(float(note.start + note.beats) for notes in voices for note in notes) * beat_s + piece.ring_s
    mixed = np.zeros(round(end_s * SAMPLE_RATE) + 1)
    for place, notes in enumerate(voices):
        loudness = 1.0 if place == 0 else ACCOMPANIMENT
        for note in notes:
            tone = _tone(note.frequency_hz, held_s=float(note.beats) * beat_s, piece=piece)
            first = round(float(note.start) * beat_s * SAMPLE_RATE)
            mixed[first : first + len(tone)] += loudness * tone
    return np.asarray(mixed * (PEAK / np.abs(mixed).max()))


def read_notes(voice: str) -> Iterator[Note]:
    """Yield the notes of a voice, those of a chord from the first written to the last."""
    start, beats = Fraction(0), Fraction(1)
    for word in voice.replace("|", " ").split():
        pitches, colon, length = word.partition(":")
        beats = Fraction(length) if colon else beats
        if pitches != "-":
            for pitch in pitches.split("+"):
                yield Note(start=start, beats=beats, frequency_hz=frequency_of(pitch))
        start += beats


def frequency_of(pitch: str) -> float:
    """Return the frequency of a pitch in equal temperament, in which A4 is 440 Hz."""
    match = PITCH.fullmatch(pitch)
    if match is None:
        raise ValueError(f"{pitch!r} is not a pitch; one is written as C4, F#3 or Bb5")
    letter, accidental, octave = match.groups()
    semitones_from_a4 = SEMITONES[letter] + ACCIDENTALS[accidental] - SEMITONES["A"] + 12 * (int(octave) - 4)
    return float(440 * 2 ** (semitones_from_a4 / 12))


def _tone(frequency_hz: float, *, held_s: float, piece: Piece) -> Samples:
    """Return one note: harmonics that die away, the higher the sooner, between a soft start and a soft end.

    With z = exp((-0.4 / decay + 2πif)·t), the imaginary part of z^k is the k-th harmonic, fading k times as fast as
    z does. So all of them are one polynomial in z, and one exponential where there would be a dozen.
    """
    times = np.arange(round((held_s + piece.ring_s) * SAMPLE_RATE)) / SAMPLE_RATE
    audible = HARMONICS[: int(SAMPLE_RATE / 2 / frequency_hz)]
    circling = np.exp((-0.4 / piece.decay_s + 2j * np.pi * frequency_hz) * times)
    harmonics = polyval(circling, (0.0, *audible)).imag
    return np.asarray(harmonics * np.exp(-0.6 / piece.decay_s * times) * _envelope(times, fade_s=piece.ring_s))


def _envelope(times: Samples, *, fade_s: float) -> Samples:
    """Return a loudness that rises from nothing in `ATTACK_S` and falls to nothing in the last `fade_s`, smoothly."""
    rise = np.clip(times / ATTACK_S, 0, 1)
    fall = np.clip((times[-1] - times) / fade_s, 0, 1)
    return np.asarray(np.sin(rise * np.pi / 2) ** 2 * np.sin(fall * np.pi / 2) ** 2)


def _wav_file(samples: Samples) -> bytes:
    """Return samples between -1 and 1 as a WAV file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes(np.round(samples * 32_767).astype("<i2").tobytes())
    return buffer.getvalue()


def _broken(chords: Sequence[str], figure: str, *, beats: str) -> str:
    """Return chords as a figure of single notes: its digits are the places of the notes in each chord, from 0."""
    notes = [chord.split()[int(place)] for chord in chords for place in figure]
    notes[0] += f":{beats}"
    return " ".join(notes)


WELL_TEMPERED_PRELUDE = Piece(
    track_id="track-bach-well-tempered-clavier-1-01",
    beats_a_minute=66,
    voices=(
        _broken(
            ("C4 E4 G4 C5 E5", "C4 D4 A4 D5 F5", "B3 D4 G4 D5 F5", "C4 E4 G4 C5 E5"), "0123423401234234", beats="1/4"
        ),
    ),
    ring_s=0.6,
)

CELLO_PRELUDE = Piece(
    track_id="track-bach-cello-suite-1-01",
    beats_a_minute=68,
    voices=(
        _broken(("G2 D3 B3 A3", "G2 E3 C4 B3", "G2 F#3 C4 B3", "G2 G3 B3 A3"), "0123212101232121", beats="1/4")
        + " G2+D3+B3:2",
    ),
    decay_s=1.2,
    ring_s=0.4,
)

CANON = Piece(
    track_id="track-pachelbel-canon-and-gigue-01",
    beats_a_minute=64,
    voices=(
        "F#5:1 E5 D5 C#5 | B4 A4 B4 C#5 | D5 C#5 B4 A4 | G4 F#4 G4 E4 | F#4:2",
        "-:8 | F#5:1 E5 D5 C#5 | B4 A4 B4 C#5 | D5:2",
        "D3:1 A2 B2 F#2 | G2 D2 G2 A2 | D3 A2 B2 F#2 | G2 D2 G2 A2 | D3:2",
    ),
    decay_s=2.5,
)

SONATA_IN_C = Piece(
    track_id="track-mozart-piano-sonata-16-01",
    beats_a_minute=132,
    voices=(
        "C5:2 E5:1 G5 | B4:3/2 C5:1/4 D5 C5:1 - | A5:2 G5:1 C6 | G5 F5:1/2 E5:1/4 F5 E5:1 - |"
        " A4:1/2 B4:1/4 C5 D5 E5 F5 G5 A5 G5 F5 E5 D5 C5 B4 A4 |"
        " G4:1/2 A4:1/4 B4 C5 D5 E5 F5 G5 F5 E5 D5 C5 B4 A4 G4 |"
        " F4:1/2 G4:1/4 A4 B4 C5 D5 E5 F5 E5 D5 C5 B4 A4 G4 F4 |"
        " E4:1/2 F4:1/4 G4 A4 B4 C5 D5 E5 D5 C5 B4 A4 G4 F4 E4 | C5:2",
        _broken(
            ("C4 E4 G4", "C4 E4 G4", "D4 F4 G4", "C4 E4 G4", "C4 F4 A4", "C4 E4 G4", "B3 D4 G4", "C4 E4 G4"),
            "0212",
            beats="1/2",
        )
        + " | F3+A3+C4:1 -:3 | E3+G3+C4:1 -:3 | D3+F3+B3:1 -:3 | C3+G3+C4:1 -:3 | C3+E3+G3:2",
    ),
)

MOONLIGHT = Piece(
    track_id="track-beethoven-piano-sonata-14-01",
    beats_a_minute=64,
    voices=(
        _broken(("G#3 C#4 E4",) * 8 + ("A3 C#4 E4",) * 2 + ("A3 D4 F#4",) * 2, "012", beats="1/3")
        + " | "
        + _broken(("G#3 B#3 F#4", "G#3 C#4 E4", "G#3 C#4 D#4", "F#3 B#3 D#4"), "012", beats="1/3")
        + " | E3+G#3+C#4:2",
        "C#2+C#3:4 | B1+B2:4 | A1+A2:2 F#1+F#2 | G#1+G#2:4 | C#2+C#3:2",
    ),
    decay_s=1.8,
    ring_s=0.5,
)

FUR_ELISE = Piece(
    track_id="track-beethoven-fur-elise-01",
    beats_a_minute=240,
    voices=(
        "E5:1 D#5 | E5 D#5 E5 B4 D5 C5 | A4:2 -:1 C4 E4 A4 | B4:2 -:1 E4 G#4 B4 | C5:2 -:1 E4 E5 D#5 |"
        " E5 D#5 E5 B4 D5 C5 | A4:2 -:1 C4 E4 A4 | B4:2 -:1 E4 C5 B4 | A4:4",
        "-:8 | A2:1 E3 A3 -:3 | E2:1 E3 G#3 -:3 | A2:1 E3 A3 -:3 |"
        " -:6 | A2:1 E3 A3 -:3 | E2:1 E3 G#3 -:3 | A2:1 E3 A3:2",
    ),
    ring_s=0.5,
)

ODE_TO_JOY = Piece(
    track_id="track-beethoven-symphony-9-04",
    beats_a_minute=138,
    voices=(
        "F#4:1 F#4 G4 A4 | A4 G4 F#4 E4 | D4 D4 E4 F#4 | F#4:3/2 E4:1/2 E4:2 |"
        " F#4:1 F#4 G4 A4 | A4 G4 F#4 E4 | D4 D4 E4 F#4 | E4:3/2 D4:1/2 D4:2",
        "D3+A3:4 | D3+A3:2 A2+C#3 | D3+F#3:4 | D3+F#3:2 A2+C#3 | D3+A3:4 | D3+A3:2 A2+C#3 | D3+F#3:4 | A2+C#3:2 D3+F#3",
    ),
    decay_s=1.6,
)

BLUE_DANUBE = Piece(
    track_id="track-strauss-blue-danube-01",
    beats_a_minute=186,
    voices=(
        "D4:1 | D4 F#4 A4 | A4:2 F#5+A5:1 | F#5+A5 - D5+F#5 | D5+F#5 - D4 |"
        " D4 F#4 A4 | A4:2 F#5+A5:1 | F#5+A5 - E5+G5 | E5+G5 - C#4 |"
        " C#4 E4 B4 | B4:2 G5+B5:1 | G5+B5 - E5+G5 | E5+G5 - C#4 |"
        " C#4 E4 B4 | B4:2 G5+B5:1 | G5+B5 - D5+F#5 | D5+F#5:2 -:1",
        "-:1 |" + " D3:1 F#3+A3 F#3+A3 |" * 6 + " A2:1 G3+C#4 G3+C#4 |" * 8 + " D3:1 F#3+A3 F#3+A3 | D3+F#3+A3:2",
    ),
)

PROMENADE = Piece(
    track_id="track-mussorgsky-pictures-at-an-exhibition-01",
    beats_a_minute=104,
    voices=(
        "G4:1 F4 Bb4 C5:1/2 F5 D5:1 | C5:1/2 F5 D5:1 Bb4 C5 G4 F4 |"
        " G4:1 F4 Bb4 C5:1/2 F5 D5:1 | C5:1/2 F5 D5:1 Bb4 C5 G4 F4",
        "-:11 | G3+Bb3+D4:1 F3+A3+C4 Bb3+D4+F4 F3+A3+C4 Bb3+D4+F4 |"
        " F3+A3+C4 Bb3+D4+F4 G3+Bb3+D4 F3+A3+C4 Eb3+G3+Bb3 F3+A3+C4",
    ),
    decay_s=1.4,
)

NEW_WORLD_LARGO = Piece(
    track_id="track-dvorak-symphony-9-02",
    beats_a_minute=56,
    voices=(
        "F4:3/4 Ab4:1/4 Ab4:1 F4:3/4 Eb4:1/4 Db4:1 | Eb4:3/4 F4:1/4 Ab4:3/4 F4:1/4 Eb4:2 |"
        " F4:3/4 Ab4:1/4 Ab4:1 F4:3/4 Eb4:1/4 Db4:1 | Eb4:3/4 F4:1/4 Eb4:3/4 Db4:1/4 Db4:2",
        "Db3+Ab3:4 | Db3+Ab3:2 Ab2+Gb3 | Db3+Ab3:4 | Ab2+Gb3:2 Db3+F3",
    ),
    decay_s=3.0,
)

MORNING_MOOD = Piece(
    track_id="track-grieg-peer-gynt-suite-1-01",
    beats_a_minute=184,
    voices=(
        "B5:1 G#5 F#5 E5 F#5 G#5 | B5 G#5 F#5 E5 F#5:1/2 G#5 F#5 G#5 | B5:1 G#5 B5 C#6 G#5 C#6 | B5 G#5 F#5 E5:3 |"
        " B4:1 G#4 F#4 E4 F#4 G#4 | B4 G#4 F#4 E4 F#4:1/2 G#4 F#4 G#4 | B4:1 G#4 B4 C#5 G#4 C#5 | B4 G#4 F#4 E4:3",
        "E3+B3:12 | C#3+G#3:6 | E3+B3 | E3+B3:12 | C#3+G#3:6 | E3+B3",
    ),
    decay_s=2.5,
)

MOUNTAIN_KING = Piece(
    track_id="track-grieg-peer-gynt-suite-1-04",
    beats_a_minute=138,
    voices=(
        "B2:1/2 C#3 D3 E3 F#3 D3 F#3:1 | E#3:1/2 C#3 E#3:1 E3:1/2 C3 E3:1 |"
        " B2:1/2 C#3 D3 E3 F#3 D3 F#3 B3 | A3 F#3 D3 F#3 A3:2 |"
        " F#3:1/2 G#3 A#3 B3 C#4 A#3 C#4:1 | D4:1/2 A#3 D4:1 C#4:1/2 A#3 C#4:1 |"
        " F#3:1/2 G#3 A#3 B3 C#4 A#3 C#4:1 | D4:1/2 A#3 D4:1 C#4:2",
        "B1:1 F#2 " * 8 + "F#1:1 C#2 " * 8,
    ),
    decay_s=0.45,
    ring_s=0.15,
)

GYMNOPEDIE = Piece(
    track_id="track-satie-gymnopedies-01",
    beats_a_minute=84,
    voices=(
        "-:12 | -:1 F#5 A5 | G5 F#5 C#5 | B4 C#5 D5 | A4:3",
        "G2:3 | D2:3 | " * 4,
        "-:1 B3+D4+F#4:2 | -:1 A3+C#4+F#4:2 | " * 4,
    ),
    decay_s=1.6,
    ring_s=0.5,
)

ENTERTAINER = Piece(
    track_id="track-joplin-the-entertainer-01",
    beats_a_minute=312,
    voices=(
        "D6:1 E6 C6 A5:2 B5:1 G5:2 | D5:1 E5 C5 A4:2 B4:1 G4:2 | D4:1 E4 C4 A3:2 B3:1 A3 Ab3 | G3:2 - G4+B4 D5:1 D#5 |"
        " E5 C6:2 E5:1 C6:2 E5:1 C6:6 C6:1 D6 D#6 | E6 C6 D6 E6:2 B5:1 D6:2 | C6:6",
        "-:24 | G2:2 - G3 - | C3 E3+G3 C3 E3+Bb3 | F3 A3+C4 E3 G3+C4 | G2 E3+C4 G2 F3+B3 | C3 E3+G3 C3",
    ),
    decay_s=0.7,
)

PIECES = (
    WELL_TEMPERED_PRELUDE,
    CELLO_PRELUDE,
    CANON,
    SONATA_IN_C,
    MOONLIGHT,
    FUR_ELISE,
    ODE_TO_JOY,
    BLUE_DANUBE,
    PROMENADE,
    NEW_WORLD_LARGO,
    MORNING_MOOD,
    MOUNTAIN_KING,
    GYMNOPEDIE,
    ENTERTAINER,
)
