"""Starts the process: Ctrl-C ends it with exit code 130 and no traceback, even while modules are imported."""

import os
import signal
import sys

_INTERRUPTED = 130


def run() -> None:
    """Run the command line; until its modules are imported, an interrupt just ends the process."""
    # A shell lets its background jobs ignore SIGINT; such a process keeps doing so.
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    from evalstore.cli.main import main

    try:
        if is_default:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    run()
