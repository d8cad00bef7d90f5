"""The file that every door starts: `python -I -S …/ringfence/start.py COMMAND …` (docs/adr/0006)."""

import gc
import sys

if __name__ == "__main__":
    # A hot door makes no garbage worth a pass, and the passes cost half a millisecond.
    gc.disable()
    # First, while only our own modules and the interpreter's built-in ones are loaded; see ringfence.doors.
    sys.path.insert(0, __file__.rpartition("/")[0].rpartition("/")[0] or ".")
    try:
        from ringfence.doors import enter

        enter(sys.argv[1:])
    except BaseException as error:
        if sys.argv[1:2] in (["run"], ["shell"]) and isinstance(error, Exception):
            # Half an upgrade, say: a module that does not fit. Status 1 would look like the program's own.
            sys.stderr.write(f"ringfence: nothing was run, because ringfence itself is broken: {error!r}\n")
            sys.exit(70)
        if sys.argv[1:2] != ["hook"]:
            raise
        # The same for the hook. Exit status 1 would let most agents run the tool; 2 and a line on stderr blocks.
        sys.stderr.write(f"ringfence: refused, because ringfence itself is broken: {error!r}\n")
        sys.exit(2)
