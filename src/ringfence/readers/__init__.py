"""Bytes to records: one module per format, pure and streaming. Nothing here judges, or asks the disk for a path."""
