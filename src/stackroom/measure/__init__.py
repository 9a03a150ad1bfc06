"""Measuring: retrieval quality on judged collections, and speed on a catalogue."""
