"""Downloads: a durable queue of requested albums, and workers that fetch them into the music
folder.
"""
