"""Command text to uses: which paths a shell command would touch, and what its text does not tell. Pure."""
