"""Tables that are uploaded to a server, proposed as a catalogue, changed, and built beside serving."""
