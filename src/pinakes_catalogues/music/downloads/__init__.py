"""Downloads: a durable queue of albums that somebody asked for, and workers that bring them into the music folder."""
