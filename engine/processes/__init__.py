"""A run of a process network, recorded like the run of a job: events, their fold, the picture, and the recording."""
