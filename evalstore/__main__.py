"""Starts the process: Ctrl-C ends it with exit code 130 and no traceback, even while modules are imported."""

import os
import sys

from evalstore.about import VERSION
from evalstore.kept_answers import CommandAnswer, find_answer, make_question

_INTERRUPTED = 130


def run() -> None:
    """Run the command line; until its modules are imported, an interrupt just ends the process."""
    try:
        question = make_question(sys.argv[1:])
        _print_known(find_answer(question) if question else _find_version(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    import signal

    # A shell lets its background jobs ignore SIGINT; such a process keeps doing so.
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    from evalstore.cli.main import main

    try:
        if is_default:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        main(question=question)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _find_version(argv: list[str]) -> CommandAnswer | None:
    return CommandAnswer(0, f"evalstore, version {VERSION}\n", "") if argv == ["--version"] and sys.stdout else None


def _print_known(answer: CommandAnswer | None) -> None:
    """Print what is known without running a command, and end the process."""
    if answer is None:
        return
    if not answer.print():
        from evalstore.cli.main import end_process

        end_process(answer.code)
    sys.exit(answer.code)


if __name__ == "__main__":
    run()
