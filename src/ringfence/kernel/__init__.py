"""The only room that calls the kernel past the standard library. Everything dangerous is in here."""
