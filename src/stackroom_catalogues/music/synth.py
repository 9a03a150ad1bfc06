"""Short pieces of music for the sample, synthesised from notes: no recording is copied.

A piece is a tune in the public domain, written as notes in `sample/tunes.toml`, and belongs to one
track of `sample/library.jsonl`. Most are the opening of a work, some with simple harmony added or
closed with a chord; the track's length in the sample is that of the piece. `render` returns a WAV
file: one channel, 16 bits, 22,050 samples a second. The same piece gives the same bytes.

The notes of a voice are words of a text. `C#5:1/2` is a pitch (middle C is `C4`) and its length in
beats; a word without a length has that of the word before it. `-` is a rest, `C3+E3+G3` a chord,
and `|` a bar line, of no effect.
"""

import functools
import io
import re
import tomllib
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import NDArray

TUNES = Path(__file__).parent / "sample" / "tunes.toml"
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
class Tune:
    """A tune for a track. The first voice is the melody, and louder than the others.

    `decay_s` is how soon a held note grows faint: short for plucked strings, long for bowed ones.
    `ring_s` is how long a note sounds on after it is let go.
    """

    track_id: str
    beats_a_minute: int
    voices: tuple[str, ...]
    decay_s: float = 0.9
    ring_s: float = 0.25


def load_pieces() -> list[Tune]:
    """Load the pieces of the sample."""
    document = tomllib.loads(TUNES.read_text(encoding="utf-8"))
    return [Tune(**{**piece, "voices": tuple(piece["voices"])}) for piece in document["piece"]]


def file_of(track_id: str) -> str:
    """Return where the sound of a track is kept, in the catalogue's folder."""
    return f"media/{track_id}.wav"


def render(piece: Tune) -> bytes:
    """Return the piece as a WAV file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, SAMPLE_RATE, 0, "NONE", ""))
        file.writeframes(np.round(mix(piece) * 32_767).astype("<i2").tobytes())
    return buffer.getvalue()


def seconds_of(piece: Tune) -> float:
    """Return the length of the piece."""
    last_beat = max(note.start + note.beats for voice in piece.voices for note in read_notes(voice))
    return float(last_beat) * 60 / piece.beats_a_minute + piece.ring_s


def mix(piece: Tune) -> Samples:
    """Return the samples of the piece, all voices together, the loudest at `PEAK`."""
    beat_s = 60 / piece.beats_a_minute
    mixed = np.zeros(round(seconds_of(piece) * SAMPLE_RATE) + 1)
    tone_of = functools.cache(functools.partial(_tone, piece=piece))  # a piece repeats its notes
    for place, voice in enumerate(piece.voices):
        loudness = 1.0 if place == 0 else ACCOMPANIMENT
        for note in read_notes(voice):
            tone = tone_of(note.frequency_hz, held_s=float(note.beats) * beat_s)
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
    semitones_from_a4 = (
        SEMITONES[letter] + ACCIDENTALS[accidental] - SEMITONES["A"] + 12 * (int(octave) - 4)
    )
    return float(440 * 2 ** (semitones_from_a4 / 12))


def _tone(frequency_hz: float, *, held_s: float, piece: Tune) -> Samples:
    """Return one note: harmonics that die away, the higher the sooner, between a soft start and a
    soft end.

    With z = exp((-0.4 / decay + 2πif)·t), the imaginary part of z^k is the k-th harmonic, fading k
    times as fast as z does. So all of them are one polynomial in z, and one exponential where there
    would be a dozen.
    """
    times = np.arange(round((held_s + piece.ring_s) * SAMPLE_RATE)) / SAMPLE_RATE
    circling = np.exp((-0.4 / piece.decay_s + 2j * np.pi * frequency_hz) * times)
    harmonics = polyval(circling, (0.0, *HARMONICS[: int(SAMPLE_RATE / 2 / frequency_hz)])).imag
    rise, fall = np.clip(times / ATTACK_S, 0, 1), np.clip((times[-1] - times) / piece.ring_s, 0, 1)
    envelope = np.asarray(np.sin(rise * np.pi / 2) ** 2 * np.sin(fall * np.pi / 2) ** 2)
    return np.asarray(harmonics * np.exp(-0.6 / piece.decay_s * times) * envelope)
