"""The file that every door starts: `python -I -S …/ringfence/start.py COMMAND …`.

-I and -S keep the environment and `site` out: PYTHONPATH of an agent's shell cannot replace a module of ours, and
start-up is 1 to 20 ms shorter (docs/adr/0006). Hot commands go straight to their pipeline; all others load `site`,
for click and rich.
"""

import sys


def _home() -> str:
    return __file__.rpartition("/")[0].rpartition("/")[0] or "."


if __name__ == "__main__":
    # First while only our own modules and the interpreter's built-in ones are loaded; see ringfence.doors.
    sys.path.insert(0, _home())
    from ringfence.doors import main

    sys.exit(main(sys.argv[1:]))
