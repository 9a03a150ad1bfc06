"""Tools and resources that clients call: declarations, and the open catalogues they work on. Knows
no transport.
"""
