"""Builds what a release has: wheel, source archive, bundle, registry entry and checksums (`make dist`)."""
