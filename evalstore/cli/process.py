"""Prepares, runs and ends the process of a command; only it turns exceptions into exit codes."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from evalstore.cli.context import CommandSettings
from evalstore.cli.streams import close_streams, open_streams, write_safely
from evalstore.errors import EvalstoreError, ExitCode, Place
from evalstore.files import describe_error

READER_LEFT = 141  # 128 + SIGPIPE: the reader of stdout (head, less) has closed it
_NO_MEMORY = "out of memory"
_MEMORY_HINT = (
    "free some, raise the limit of this process (ulimit -v), or name fewer or smaller files"
)
# Encoded in advance: when nothing can be allocated, nothing can be formatted either.
_LAST_WORDS = f"error: {_NO_MEMORY}\nhint: {_MEMORY_HINT}\n".encode()
_STDERR, _FAILED = 2, int(ExitCode.FAILED)
_NO_THREAD = "can't start new thread"  # what Python says if there is no memory for a stack
# What Python says if an allocation failed in C and the error was lost.
_LOST_ERROR = "error return without exception set"
_GC_THRESHOLDS = 1_000_000, 50, 100  # objects, and rounds


def prepare_process() -> None:
    """Open the standard streams, and make garbage collection rare."""
    open_streams()
    # A store of thousands of artifacts is millions of objects, hardly any of them in a cycle:
    # looking for cycles as often as Python does takes a fifth of the time, and looking once more at
    # the end a thirtieth.
    gc.set_threshold(*_GC_THRESHOLDS)
    atexit.register(gc.freeze)


def run_action(action: Callable[[], int], settings: CommandSettings) -> int:
    """Return the exit code of an action, after printing what to do next.

    If the action ends with an error, that is printed instead.
    """
    try:
        code = action()
        settings.print_next_steps()
    except EvalstoreError as error:
        return settings.print_error(error)
    except KeyboardInterrupt:
        return settings.print_error(EvalstoreError("interrupted"), ExitCode.INTERRUPTED)
    except OSError as error:
        return _report_write_error(error, settings)
    except Exception as error:  # noqa: BLE001  # any other exception is a bug in evalstore
        if _lacks_memory(error):
            return settings.print_error(EvalstoreError(_NO_MEMORY, hint=_MEMORY_HINT))
        if settings.verbose:
            import traceback

            write_safely(sys.stderr, traceback.format_exc())
        bug = f"this is a bug in evalstore: {type(error).__name__}: {error}"
        hint = "run it again with --verbose, and report the trace"
        return settings.print_error(EvalstoreError(bug, hint=hint), ExitCode.BUG)
    else:
        return code


def _lacks_memory(error: BaseException) -> bool:
    """Whether the system ran out of memory.

    If so, the locals of the functions that the error left are freed. Reporting the error takes some
    memory, too; if there is none, `end_without_memory` reports it.
    """
    errors: list[BaseException] = [error]
    while (before := errors[-1].__context__) is not None and before not in errors:
        errors.append(before)
    if not any(map(_is_of_memory, errors)):
        return False
    for one in errors:
        one.__traceback__ = None
    return True


def _is_of_memory(error: BaseException) -> bool:
    if isinstance(error, SystemError) and str(error) == _LOST_ERROR:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit

        return getrlimit(RLIMIT_AS)[0] != RLIM_INFINITY
    return isinstance(error, MemoryError) or str(error) == _NO_THREAD


def end_without_memory() -> NoReturn:
    """Say that there is too little memory, and exit at once; needs no memory itself."""
    try:
        os.write(_STDERR, _LAST_WORDS)
    finally:
        os._exit(_FAILED)


def end_process(code: int, settings: CommandSettings | None = None) -> None:
    """Close the streams and exit the process with a code.

    If stdout cannot be written, the code is that of the failure.
    """
    if error := close_streams():
        code = code or _report_write_error(error, settings or CommandSettings())
    sys.exit(code)


def _report_write_error(error: OSError, settings: CommandSettings) -> int:
    if isinstance(error, BrokenPipeError):
        return READER_LEFT
    words = f"the system refused: {describe_error(error)}"
    return settings.print_error(EvalstoreError(words, place=_error_place(error)))


def _error_place(error: OSError) -> Place | None:
    return Place(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
