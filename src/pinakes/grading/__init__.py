"""Self-grading: a catalogue's own questions, how well it answers them, the weights that answer best, and drift."""
