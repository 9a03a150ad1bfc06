"""Builds what a release has: wheel, source archive, bundle, registry entry, skill and checksums
(`make dist`).
"""
