"""What a catalogue is: its declaration, read from `catalogue.toml` and compiled to a frozen `CatalogueSpec`."""
