"""From the first word of the command line to the pipeline that answers it. Hot: knows four doors by heart."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn


def main(words: "Sequence[str] | None" = None) -> int:
    """Run one command; the exit status as docs/cli.md lists them."""
    words = sys.argv[1:] if words is None else words
    first = words[0] if words else ""
    rest = list(words[1:])
    asks_help = "--help" in rest[: rest.index("--")] if "--" in rest else "--help" in rest
    if not asks_help:
        if first == "hook":
            from ringfence.pipelines.hook import run

            return run(rest)
        if first == "shell":
            from ringfence.pipelines.shell import run as run_shell

            return run_shell(rest)
        if first == "run":
            from ringfence.pipelines.run import run as run_program

            return run_program(rest)
        if first == "try":
            from ringfence.pipelines.trying import run as run_try

            return run_try(rest)
    return _cold(words)


def enter(words: "Sequence[str]") -> "NoReturn":
    """The whole life of a process that start.py started."""
    with_bundle(lambda: main(words))


def with_bundle(command: "Callable[[], int]") -> "NoReturn":
    """Run a hot command with the bundle in front of the import system, and end."""
    from ringfence.bundle import install

    bundle = install(__file__.rpartition("/")[0])
    status = command()
    if bundle is not None and "site" not in sys.modules:
        bundle.keep()
    leave(status)


def leave(status: int) -> "NoReturn":
    """End the process at once. Everything that was written has been flushed; `sys.exit` would take 0.6 ms more."""
    if "atexit" in sys.modules or sys.platform == "win32":
        sys.exit(status)  # a cold command: click, rich and their libraries may have something to tidy
    from posix import _exit

    _exit(status)


def _cold(words: "Sequence[str]") -> int:
    if sys.flags.no_site:
        # Started by start.py: put our folder last, where it cannot hide a standard module, and load `site`.
        own = sys.path.pop(0)
        import gc
        import site

        gc.enable()
        site.main()
        if own not in sys.path:
            sys.path.append(own)
    from ringfence.cli.main import main as cli_main

    return cli_main(list(words))
