"""Resources that clients read by URI: their declaration, reading them in parts, and those of every
server.
"""
