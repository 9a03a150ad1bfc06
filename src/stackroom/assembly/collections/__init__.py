"""The collections of a place: LanceDB tables that are synced into the library, and followed while a
server runs.
"""
