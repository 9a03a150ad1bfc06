"""The OpenSubsonic API, by which players on phones and desktops reach the music of a server."""
