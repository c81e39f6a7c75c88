"""Starts the process.

Ctrl-C ends it with exit code 130 and no traceback, even during imports.
"""

from __future__ import annotations

import os
import sys

from evalstore.about import VERSION

_INTERRUPTED = 130


def run() -> None:
    """Run the command line; an interrupt during its imports simply ends the process."""
    try:
        if sys.argv[1:] == ["--version"] and sys.stdout:
            _print_version()
        import signal
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    # A shell makes its background jobs ignore SIGINT; such a process keeps ignoring it.
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    from evalstore.cli.main import main
    from evalstore.cli.process import end_without_memory

    try:
        if is_default:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except MemoryError:  # whatever was to report it ran out of memory itself
        end_without_memory()


def _print_version() -> None:
    """Print the version, without loading click, and exit."""
    try:
        sys.stdout.write(f"evalstore, version {VERSION}\n")
        sys.stdout.flush()
    except OSError:
        from evalstore.cli.process import end_process

        end_process(0)
    sys.exit(0)


if __name__ == "__main__":
    run()
