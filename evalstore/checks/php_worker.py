"""One PHP that lints snippet after snippet: `php -l` over named pipes, again and again; it never runs them.

`--repeat` makes PHP (8.1 and later) begin again when it is done: the same lint in a new request, without the 10 to
25 ms of a start. Each snippet has a named pipe of its own: as soon as PHP opens the next one, everything that it had to
say of the last snippet is written, whatever words of the snippet the messages quote.
"""

from __future__ import annotations

import atexit
import errno
import os
import select
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

# The pipe has the name that `php -l` gives to its standard input, because messages end in it.
_PIPE, _NEXT_PIPE = "Standard input code", "next"
_SNIPPETS = 10_000  # then a new process, so that nothing can pile up
_MAX_OUTPUT = 1 << 20
_SHORT_WAIT, _LONG_WAIT = 0.001, 0.008
_AGAIN = b"Finished execution, repeating...\n"
# PHP waits for a pipe as long as there is one, so a shell ends it when this process is gone, however that went.
_GUARD = f'"$@" </dev/null & exec >/dev/null; read -r _; kill -9 $!; rm -f "{_PIPE}" {_NEXT_PIPE}; rmdir "$PWD"'


class LintWorker:
    """Lints with a PHP that is started when the first snippet comes, and anew after it was lost."""

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._command = command
        self._seconds = seconds
        self._is_able = hasattr(os, "mkfifo")
        self._process: _LintProcess | None = None
        self._lock = threading.Lock()

    def lint(self, code: bytes) -> bytes | None:
        """Return what `php -l` writes about a snippet; None where this process cannot tell, and `php -l` has to."""
        deadline = time.monotonic() + self._seconds
        with self._lock:
            try:
                if self._process is None and not self._start(deadline):
                    return None
                output = self._process.lint(code, deadline) if self._process else b""
            except OSError:
                self._end()
                return None
        return output.removesuffix(_AGAIN) if output.endswith(_AGAIN) else None

    def close(self) -> None:
        """End the process; the next snippet starts another one."""
        with self._lock:
            self._end()

    def _start(self, deadline: float) -> bool:
        """Start PHP; one that never opens the pipe is not tried again."""
        if not self._is_able:
            return False
        self._is_able = False
        self._process = _LintProcess(self._command)
        self._process.read_until_open(deadline)
        self._is_able = True
        return True

    def _end(self) -> None:
        process, self._process = self._process, None
        if process:
            process.end()


class _LintProcess:
    """A PHP, the folder with its pipe, and the shell that ends both; its methods raise `OSError` where PHP is lost."""

    def __init__(self, command: Sequence[str]) -> None:
        self._writer = -1  # of the pipe that PHP reads
        self._folder = Path(tempfile.mkdtemp(prefix="evalstore-"))
        stdin, self._stdin = os.pipe()
        self._stdout, stdout = os.pipe()
        self._shell: subprocess.Popen[bytes] | None = None
        try:
            os.mkfifo(self._folder / _PIPE, 0o600)
            self._shell = subprocess.Popen(  # noqa: S603  # fixed words, and PHP's absolute path
                ["/bin/sh", "-c", _GUARD, "sh", *command, "--repeat", str(_SNIPPETS), "-l", _PIPE],
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                cwd=self._folder,
                env={},
                start_new_session=True,  # Ctrl-C is for this process, whose end is theirs
            )
        except OSError:
            self.end()
            raise
        finally:
            os.close(stdin)
            os.close(stdout)

    def lint(self, code: bytes, deadline: float) -> bytes:
        """Write a snippet, and return what PHP wrote until it asked for the next one."""
        os.mkfifo(self._folder / _NEXT_PIPE, 0o600)
        (self._folder / _NEXT_PIPE).replace(self._folder / _PIPE)
        rest = memoryview(code)
        while rest:
            if not _wait_for(self._writer, select.POLLOUT, deadline - time.monotonic()):
                raise TimeoutError
            rest = rest[os.write(self._writer, rest) :]
        self._close_writer()
        return self.read_until_open(deadline)

    def read_until_open(self, deadline: float) -> bytes:
        """Return what PHP writes before it opens the pipe that lies there now."""
        output, wait = bytearray(), _SHORT_WAIT
        while not self._open_writer():
            if _wait_for(self._stdout, select.POLLIN, wait):
                output += _read_some(self._stdout)
                wait = _SHORT_WAIT
            elif time.monotonic() > deadline:
                raise TimeoutError
            else:
                wait = min(2 * wait, _LONG_WAIT)
            if len(output) > _MAX_OUTPUT:
                raise OSError(errno.EMSGSIZE, "PHP wrote more than any snippet needs")
        while _wait_for(self._stdout, select.POLLIN, 0):
            output += _read_some(self._stdout)
        return bytes(output)

    def end(self) -> None:
        """Close the shell's input, which ends PHP, and wait for it."""
        self._close_writer()
        os.close(self._stdin)
        os.close(self._stdout)
        if self._shell:
            self._shell.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _open_writer(self) -> bool:
        """Open the pipe if PHP has opened it."""
        try:
            self._writer = os.open(self._folder / _PIPE, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return False
            raise
        return True

    def _close_writer(self) -> None:
        if self._writer >= 0:
            os.close(self._writer)
        self._writer = -1


@lru_cache(maxsize=1)
def open_worker(command: tuple[str, ...], seconds: float, _process_id: int) -> LintWorker:
    """Return the worker of a command, one for each process of ours: a fork does not share its parent's."""
    worker = LintWorker(command, seconds)
    atexit.register(worker.close)
    return worker


def _wait_for(file: int, events: int, seconds: float) -> bool:
    """Say whether a file is ready, or at its end, within so many seconds."""
    poll = select.poll()
    poll.register(file, events)
    return bool(poll.poll(max(seconds, 0) * 1000))


def _read_some(file: int) -> bytes:
    """Return what is there to read; `BrokenPipeError` at the end, which is PHP's."""
    if data := os.read(file, 1 << 16):
        return data
    raise BrokenPipeError
