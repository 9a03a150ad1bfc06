"""A catalogue's records and indexes behind one small port (`port`), implemented by `embedded`."""
