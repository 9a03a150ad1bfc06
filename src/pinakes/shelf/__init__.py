"""Where a catalogue's records and indexes live, behind one small port (`port`): embedded, or in memory for tests."""
