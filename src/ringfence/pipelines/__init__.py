"""One straight line per command: read the surroundings once, carry values from room to room, answer."""
