"""The transforms: each records a function on the tape and replays the slice."""
