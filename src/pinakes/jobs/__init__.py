"""Work that is done beside calls: a scheduler, its jobs, and a queue of downloads."""
