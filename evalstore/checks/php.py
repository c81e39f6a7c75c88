"""PHP syntax: where blocks begin and end, and what says whether they are valid; sole user of php and tree-sitter.

Below `cli`, only this module and the one that runs git look at PATH: each owns a child process.
"""

from __future__ import annotations

import atexit
import errno
import os
import re
import select
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evalstore.errors import RefusedError
from evalstore.model.outcome import APPROXIMATE
from evalstore.text import make_excerpt

# The pipe has the name that `php -l` gives to its standard input, because messages end in it.
_PIPE, _NEXT_PIPE = "Standard input code", "next"
_MAX_OUTPUT = 1 << 20
_SHORT_WAIT = 0.001
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
                # After so many repeats there is a new process, so that nothing can pile up.
                ["/bin/sh", "-c", _GUARD, "sh", *command, "--repeat", "10000", "-l", _PIPE],
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
                wait = min(2 * wait, 0.008)
            if len(output) > _MAX_OUTPUT:
                raise OSError(errno.EMSGSIZE, "PHP wrote too much output")
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


SECONDS = 60  # then the command ends: a clock must not decide what is recorded
_OPEN, _FENCE = "```php", "```"
_VERSION = re.compile(rb"PHP ([0-9]+(?:\.[0-9]+)+)")
# No php.ini, no short tags, bounded memory: the answer depends on the code and on PHP's version only.
_OPTIONS = ("-n", "-d", "short_open_tag=0", "-d", "memory_limit=128M")
_BROKEN = 255
_SAYS_VALID = b"No syntax errors detected in Standard input code\n"
_SAYS_BROKEN = b"Errors parsing Standard input code\n"
_OUT_OF_MEMORY = b"Allowed memory size of"
# The worker has half of it: what fits there fits into a new process, whatever the worker still holds.
_LITTLE_MEMORY = ("-d", "memory_limit=64M")


@dataclass(frozen=True, slots=True)
class PhpEngine:
    """What lints: its name as results record it, and the program's path (None: the embedded parser)."""

    name: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class LintResult:
    """Whether one block is valid syntax; None when the engine could not tell, and `message` says why."""

    valid: bool | None
    message: str = ""


def find_php_blocks(text: str) -> list[str]:
    """Return what stands between a line that opens with ```` ```php ```` (anywhere in it) and the next ```` ``` ````.

    The tag is a prefix in lower case (```` ```phpt ```` counts), and an unclosed block is none: drupal 1.3.
    """
    # The legacy grader's regular expression takes quadratic time on a line of many openings; this is the same, linear.
    blocks: list[str] = []
    end = 0
    while (start := text.find(_OPEN, end)) >= 0 and (line := text.find("\n", start)) >= 0:
        close = text.find(_FENCE, line + 1)
        if close < 0:
            break
        blocks.append(text[line + 1 : close])
        end = close + len(_FENCE)
    return blocks


@lru_cache(maxsize=1)
def find_php_engine() -> PhpEngine | None:
    """Return PHP where it is installed, else the embedded parser where it is, else None."""
    path = find_php()
    if path is not None and (version := _read_php_version(path)):
        return PhpEngine(f"php {version}", path)
    try:
        import tree_sitter_php  # noqa: F401  # only asked for
    except ImportError:
        return None
    return PhpEngine(f"tree-sitter-php {APPROXIMATE}")


def find_php() -> str | None:
    """Return the absolute path of `php`; one that the current folder would supply does not count."""
    path = shutil.which("php")
    return path if path is not None and Path(path).is_absolute() else None


def _read_php_version(path: str) -> str | None:
    try:
        version = _VERSION.match(_run_php(path, "-v").stdout)
    except OSError:
        return None
    return version[1].decode() if version else None


@lru_cache(maxsize=1024)
def check_block(engine: PhpEngine, block: str) -> LintResult:
    """Say whether a block is valid syntax; `<?php` is put before one that lacks it."""
    code = block if block.strip().startswith("<?php") else "<?php\n" + block
    data = code.encode("utf-8", "surrogatepass")
    return _lint_with_parser(data) if engine.path is None else _lint_with_php(engine.path, data)


def _lint_with_php(path: str, code: bytes) -> LintResult:
    said = open_worker((path, *_OPTIONS, *_LITTLE_MEMORY), SECONDS, os.getpid()).lint(code)
    if said is not None and _OUT_OF_MEMORY not in said:
        if said.endswith(_SAYS_VALID):
            return LintResult(True)
        if said.endswith(_SAYS_BROKEN):
            return LintResult(False, _read_message(said) or "invalid syntax")
    # Whatever is out of the ordinary has a process of its own, so that no answer depends on the snippets before it.
    return _lint_alone(path, code)


def _lint_alone(path: str, code: bytes) -> LintResult:
    try:
        done = _run_php(path, "-l", code)
    except OSError as error:
        return LintResult(None, f"php could not be started: {error.strerror}")
    message = _read_message(done.stdout)
    if done.returncode == 0:
        return LintResult(True)
    if done.returncode != _BROKEN or _OUT_OF_MEMORY in done.stdout:
        return LintResult(None, f"php could not check the code (exit {done.returncode}): {message}")
    return LintResult(False, message or "invalid syntax")


def _read_message(said: bytes) -> str:
    """Return the second line of what PHP writes; the first is empty."""
    return make_excerpt(next(iter(said.decode("utf-8", "replace").split("\n", 2)[1:]), "").strip())


def _run_php(path: str, action: str, code: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run `php`; raises `RefusedError` where it does not finish, because then nobody knows its answer."""
    try:
        return subprocess.run(  # noqa: S603  # an absolute path and fixed arguments; the code goes in by stdin
            [path, *_OPTIONS, action], input=code, capture_output=True, timeout=SECONDS, env={}, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RefusedError(
            f"`php {action}` did not finish within {SECONDS} s, so a php_lint check has no result",
            hint="try again when the machine is less busy: evalstore records no result that depends on time",
        ) from error


def _lint_with_parser(code: bytes) -> LintResult:
    import tree_sitter
    import tree_sitter_php

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_php.language_php()))
    broken = parser.parse(code).root_node.has_error
    return LintResult(not broken, "invalid syntax" if broken else "")
