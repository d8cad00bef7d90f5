"""Raw path text to the place where a system call would land. One door: `locate`.

Two backends give the same answers: `descriptor` (Linux: the kernel walks, /proc/self/fd names what it found) and
`walk` (lstat and readlink; elsewhere, where /proc is missing, and as the oracle in tests).
The answer is true for the moment it was made: a hook judges a string that the agent opens later. Only an engine
holds while a program runs (docs/adr/0003).
"""
