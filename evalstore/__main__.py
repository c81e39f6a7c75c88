"""Starts the process: Ctrl-C ends it with exit code 130 and no traceback, even while modules are imported."""

from __future__ import annotations

import os
import sys

from evalstore.about import COMPLETE_VARIABLE, VERSION
from evalstore.kept_answers import CommandAnswer, CommandQuestion, find_answer, make_question, split_folder

TYPE_CHECKING = False  # typing itself would be the slowest import
if TYPE_CHECKING:
    from collections.abc import Callable

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
    start = _load_start(question)
    try:
        if is_default:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        start()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _load_start(question: CommandQuestion | None) -> Callable[[], None]:
    """Import what runs the command line; click is not needed where every word can only be an argument."""
    directory, words = split_folder(sys.argv[1:])
    # Whatever has an option, `--` or nothing to resolve is left to click, and so is a shell that asks for completions.
    is_plain = words[:1] == ["resolve"] and len(words) > 1 and not any(word[:1] == "-" for word in (directory, *words))
    if is_plain and COMPLETE_VARIABLE not in os.environ:
        from evalstore.cli.ref_meanings import run_plain

        return lambda: run_plain(directory, words[1:])
    from evalstore.cli.main import main

    return lambda: main(question=question)


def _find_version(argv: list[str]) -> CommandAnswer | None:
    return CommandAnswer(0, f"evalstore, version {VERSION}\n", "") if argv == ["--version"] and sys.stdout else None


def _print_known(answer: CommandAnswer | None) -> None:
    """Print what is known without running a command, and end the process."""
    if answer is None:
        return
    if not answer.print():
        from evalstore.cli.process import end_process

        end_process(answer.code)
    sys.exit(answer.code)


if __name__ == "__main__":
    run()
