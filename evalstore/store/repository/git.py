"""Runs git with argument lists in our environment, and kills one that hangs.

Writing commands go through GitPython.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

from evalstore.errors import GitError
from evalstore.store.repository.environment import SEALED, GitEnvironment
from evalstore.store.repository.watchdog import read_output
from evalstore.text import hide_url_secrets, make_excerpt

NAME_ENCODING = ("utf-8", "surrogateescape")  # of paths and refs, which are bytes to git
TIMEOUT = 30.0  # seconds in which git does nothing; a FIFO in place of a ref would hang it for ever

USER_CONFIG = {
    "GIT_CONFIG_GLOBAL": None,
    "GIT_CONFIG_NOSYSTEM": None,
}  # for `env`: allows reading the user's own settings

REFETCH = "git fetch {}--refetch --no-filter --tags, in a partial clone; else clone again in full"

# Read-only subcommands. They are started without GitPython, whose import takes longer than most of
# them.
_READING = frozenset(
    {
        "cat-file",
        "check-attr",
        "for-each-ref",
        "grep",
        "log",
        "ls-files",
        "ls-tree",
        "merge-base",
        "merge-file",
        "rev-list",
        "rev-parse",
        "show-ref",
        "verify-tag",
    }
)

_BAD_REFS = (
    "the repository has dangerous ref names",
    "clean packed-refs; until then evalstore reads no tag",
)
_LOCKED = (
    "another git process has a lock",
    "wait for it, or remove the .lock file it left behind",
)
_FREE_SPACE = "free some space and run the command again"
# A text in git's stderr -> what happened, and what to do next.
_EXPLANATIONS = (
    (
        "dubious ownership",
        "git does not trust this repository, because it belongs to another user",
        "if you trust it: git config --global --add safe.directory <folder>",
    ),
    ("not a git repository", "not a git repository", "create one: evalstore init"),
    ("bad ref name", *_BAD_REFS),
    ("refname is dangerous", *_BAD_REFS),
    ("from promisor remote", "an object is missing from this clone", REFETCH.format("")),
    (
        "shallow file has changed",
        "the repository changed during the command",
        "run the command again",
    ),
    ("No space left on device", "the disk is full", _FREE_SPACE),
    # git says no more about what the system refused, and it is seldom anything else.
    ("couldn't write '", "git cannot write to the disk, which may be full", _FREE_SPACE),
    ("Unable to create", *_LOCKED),
    ("could not lock config file", *_LOCKED),
    (
        "ermission denied",
        "git is not allowed to read or write a file of the repository",
        "check the permissions of .git",
    ),
    ("bad config", "the repository's configuration cannot be read", "look at .git/config"),
    ("unknown repository", "this git cannot read the repository's format", "use a newer git"),
)
_AT_IMPORT = {"GIT_PYTHON_GIT_EXECUTABLE": os.devnull, "GIT_PYTHON_REFRESH": "quiet"}


class CommandError(GitError):
    """A git command that failed; `status`, `stderr` and `stdout` are as git returned them."""

    def __init__(self, command: str, status: int, stderr: str, stdout: bytes = b"") -> None:
        message, hint = _explain_failure(command, status, stderr)
        super().__init__(message, hint=hint)
        self.status = status
        self.stderr = stderr
        self.stdout = stdout


class Git(NamedTuple):
    """Git for one repository, named by its git directory: git never searches for one.

    `common` is the git directory that all working trees of the repository share. A lock on one of
    `inherited_fds` lasts as long as the last command that a killed process had started.
    """

    directory: Path
    common: Path
    inherited_fds: tuple[int, ...] = ()
    timeout: float | None = None
    environment: GitEnvironment = SEALED

    def run(
        self, *argv: str, stdin: bytes = b"", env: Mapping[str, str | None] | None = None
    ) -> bytes:
        """Run one git subcommand and return its stdout.

        Raises `CommandError`, or `GitError` if git is missing.
        """
        return run_git(
            (f"--git-dir={self.directory}", *argv),
            stdin=stdin,
            env=env,
            inherited_fds=self.inherited_fds,
            timeout=self.timeout,
            environment=self.environment,
        )

    def run_or_none(self, *argv: str) -> bytes | None:
        """Run a subcommand whose exit code 1 means "no", and return None in that case."""
        try:
            return self.run(*argv)
        except CommandError as failure:
            if failure.status == 1:
                return None
            raise

    def start(
        self, *argv: str, stdin: IO[bytes] | int, env: Mapping[str, str | None] | None = None
    ) -> Any:
        """Start a subcommand that runs until the returned object, with its `proc`, is collected."""
        words = (f"--git-dir={self.directory}", *argv)
        return _start_process(
            self.environment, words, env or {}, stdin=stdin, inherited_fds=self.inherited_fds
        )


class _ReadingProcess:
    """A process that ends when this object is collected, like GitPython's wrapper."""

    __slots__ = ("proc",)

    def __init__(self, proc: subprocess.Popen[bytes]) -> None:
        self.proc: subprocess.Popen[bytes] | None = proc

    def __del__(self) -> None:
        process, self.proc = self.proc, None
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr) if process else ():
            if pipe is not None:
                pipe.close()


def run_git(  # noqa: PLR0913  # how a process is started, each by its name
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    env: Mapping[str, str | None] | None = None,
    inherited_fds: Sequence[int] = (),
    timeout: float | None = None,
    environment: GitEnvironment = SEALED,
) -> bytes:
    """Run git without a named repository and return its stdout.

    `env` adds variables, and None removes one.
    """
    with _open_stdin(stdin) as file:
        # It ends when it is collected, also after Ctrl-C.
        started = _start_process(
            environment, argv, env or {}, stdin=file, inherited_fds=inherited_fds
        )
        answer = read_output(started.proc, limit := timeout or TIMEOUT)
    status = started.proc.returncode
    if answer is None:
        raise CommandError(
            _find_subcommand(argv),
            -signal.SIGKILL,
            f"Timeout: git did nothing for {limit:g} seconds",
        )
    if status:
        raise CommandError(
            _find_subcommand(argv), status, answer[1].decode("utf-8", "replace"), answer[0]
        )
    return answer[0]


def _open_stdin(data: bytes) -> IO[bytes]:
    # GitPython writes no stdin: git reads it from a file.
    if not data:
        return Path(os.devnull).open("rb")
    import tempfile

    file = tempfile.TemporaryFile()  # noqa: SIM115  # its caller closes it
    file.write(data)
    file.seek(0)
    return file


def _find_subcommand(argv: Sequence[str]) -> str:
    pairs = pairwise(("", *argv))
    return next(
        (word for flag, word in pairs if not word.startswith("-") and flag not in {"-C", "-c"}),
        "git",
    )


def _start_process(
    environment: GitEnvironment,
    argv: Sequence[str],
    env: Mapping[str, str | None],
    *,
    stdin: IO[bytes] | int,
    inherited_fds: Sequence[int],
) -> Any:
    command, variables = (
        environment.build_command(find_executable(), argv),
        environment.build_variables(env),
    )
    if _find_subcommand(argv) not in _READING:
        # GitPython passes on its own environment and can only add to it: `env -i` starts git with
        # an empty one.
        pairs = [f"{name}={value}" for name, value in variables.items()]
        words = ["/usr/bin/env", "-i", *pairs, *command]
        return _load_gitpython().execute(
            words, istream=stdin, as_process=True, shell=False, pass_fds=inherited_fds
        )
    pipe = subprocess.PIPE
    return _ReadingProcess(
        subprocess.Popen(  # noqa: S603  # an absolute path, and words of ours
            command,
            env=variables,
            stdin=stdin,
            stdout=pipe,
            stderr=pipe,
            pass_fds=tuple(inherited_fds),
        )
    )


@cache
def _load_gitpython() -> Any:
    # On import GitPython runs `git version` twice to find a git that it never uses: it gets
    # complete commands.
    before = {name: os.environ.get(name) for name in _AT_IMPORT}
    os.environ.update(_AT_IMPORT)
    try:
        from git.cmd import Git as GitPython
    except ImportError as error:
        raise GitError(f"git cannot be run: {error}", hint="try git --version") from None
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({name: value} if value is not None else {})
    return GitPython()


@cache
def find_executable() -> str:
    """Return the absolute path of git; relative entries of PATH are not searched."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = Path(folder, "git")
        if (
            path.is_absolute() and os.access(path, os.X_OK) and path.is_file()
        ):  # unlike is_file, access never raises
            return str(path)
    raise GitError("git is not installed", hint="install git 2.31 or newer, and put it on PATH")


def _explain_failure(command: str, status: int, stderr: str) -> tuple[str, str | None]:
    if stderr.startswith("Timeout:"):
        seconds = stderr.split()[-2]
        return (
            f"git {command} did not answer within {seconds} seconds",
            "look for a FIFO or a huge file in .git, or as .gitattributes",
        )
    for text, message, hint in _EXPLANATIONS:
        if text in stderr:
            return message, hint
    lines = [line for line in stderr.splitlines() if line.strip()]
    words = (
        lines[-1].removeprefix("fatal: ").removeprefix("error: ")
        if lines
        else f"exit code {status}"
    )
    return f"git {command} failed: {make_excerpt(hide_url_secrets(words))}", None
