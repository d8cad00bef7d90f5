"""Values to text or JSON. Pure: no I/O, no colour codes; `paint` is handed in by the door."""
