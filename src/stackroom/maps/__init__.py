"""Maps: the records of a catalogue as points in the plane, similar ones near each other."""
