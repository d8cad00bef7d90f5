"""Words to one pipeline call to an exit code. The only room that knows click and rich."""
