"""Self-grading: a catalogue's own questions, how well it answers them, and the weights that answer
best.
"""
