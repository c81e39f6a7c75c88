"""Keeps what a command that only reads has answered, and answers so again while nothing is different that it read.

One walk over the store and the git directory finds all that an answer follows from: the status of every file (kind,
size, times, inode, as in git's index), the code, the day, the terminal. As git does, it trusts no file that was changed
about when it was looked at (Documentation/technical/racy-git). An answer lies in the git directory, can be deleted at
any time, and counts only for the user who wrote it. Nothing is imported that takes time.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from array import array

from evalstore.about import VERSION
from evalstore.places import LEDGER_FOLDER, SETTINGS_FILE, find_git_directories, find_root, find_top, is_git_directory

TYPE_CHECKING = False  # typing itself would be the slowest import
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

COMMANDS = frozenset({"list", "status", "validate"})
FOLDER = "evalstore"  # below the git directory
LIMIT = 64 << 20  # bytes of one answer
SETTLED = 2_000_000_000  # nanoseconds after which the next change of a file gives it another time, on any file system
_FIELDS = 5  # of a file's status
_TYPE, _FOLDER_TYPE = 0o170000, 0o040000  # of a mode
_DRIFT = 1_000_000_000  # nanoseconds by which the file system's clock may differ from ours
_PREFIX = "answer-"
_STORE_FILES = (SETTINGS_FILE, "evalstore.lock")
_STORE_FOLDERS = (
    *("rubrics", "judges", "datasets", "rubric", "judge", "dataset", "bundles"),
    LEDGER_FOLDER.partition("/")[0],
)
# Of a git directory: what says nothing of refs and settings. An object's name says what it holds.
_UNREAD_NAMES = frozenset({"hooks", "index", "lfs", "logs", "modules", "objects", "worktrees", FOLDER})
# What a command does not read of a store: `list` takes the ledgers from HEAD, and half of all files are ledgers.
_UNREAD_FOLDERS = {"list": LEDGER_FOLDER.rpartition("/")[2]}
_KEPT_NAMES = (_PREFIX, "parsed-values", ".")  # of our own folder there
_PROGRAMS = ("git", "php")
_VARIABLES = (
    *("COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "TERM", "HOME", "PATH", "XDG_CONFIG_HOME"),
    *("LANG", "LC_ALL", "LC_CTYPE", "PYTHONIOENCODING", "PYTHONPATH", "PYTHONUTF8"),
)


class Facts:
    """Names in the order in which they are found, and for each file the numbers of its status."""

    __slots__ = ("_names", "_numbers")

    def __init__(self) -> None:
        self._names: list[str] = []
        self._numbers: list[int] = []  # a mode, a size, two times and an inode for each file

    @property
    def digest(self) -> str:
        """The SHA-256 of all facts; raises `OverflowError` for a time before 1970."""
        names = "\0".join(self._names).encode("utf-8", "surrogateescape")
        return hashlib.sha256(b"%d\0%b%b" % (len(names), names, array("Q", self._numbers).tobytes())).hexdigest()

    @property
    def newest(self) -> int:
        """The last change of all files, in nanoseconds."""
        return max(max(self._numbers[at::_FIELDS], default=0) for at in (2, 3))

    @property
    def has_link(self) -> bool:
        """Whether there is a link among the files: what it leads to can change without it."""
        return any(stat.S_ISLNK(mode) for mode in set(self._numbers[0::_FIELDS]))

    def add(self, *facts: object) -> None:
        """Add facts that no file has."""
        self._names += (repr(facts), "")

    def add_file(self, path: str) -> None:
        """Add the status of a file, or that there is none."""
        self._names.append(path)
        try:
            found = os.lstat(path)
        except OSError as error:
            self._numbers += (error.errno or 0, 0, 0, 0, 0)
        else:
            self._numbers += (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)

    def add_tree(self, folder: str, skipped: str = "") -> None:
        """Add the status of everything in a folder and below it, but of what has the name `skipped`."""
        inner: list[str] = []
        add_name, add_numbers = self._names.append, self._numbers.extend
        add_name(folder)
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if name == skipped:
                    continue
                found = entry.stat(follow_symlinks=False)
                mode = found.st_mode
                add_name(name)
                add_numbers((mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino))
                if mode & _TYPE == _FOLDER_TYPE:
                    inner.append(name)
        add_name("")
        for name in inner:
            self.add_tree(f"{folder}/{name}", skipped)


class CommandQuestion:
    """A command, with the digest of all that its answer follows from; `asked` is when it was asked, in ns."""

    __slots__ = ("asked", "command", "digest", "directory", "newest")

    def __init__(self, command: str, directory: str, asked: int, facts: Facts) -> None:
        self.command = command
        self.directory = directory
        self.asked = asked
        self.newest = facts.newest
        self.digest = facts.digest

    @property
    def file(self) -> str:
        """Where its answer lies, below the git directory."""
        return f"{FOLDER}/{_PREFIX}{self.command}"


class CommandAnswer:
    """What a command printed, and its exit code."""

    __slots__ = ("code", "stderr", "stdout")

    def __init__(self, code: int, stdout: str, stderr: str) -> None:
        self.code = code
        self.stdout = stdout
        self.stderr = stderr

    def print(self) -> bool:
        """Write both streams again; return whether stdout took it all."""
        try:
            if self.stderr:
                sys.stderr.write(self.stderr)
                sys.stderr.flush()
        except OSError:
            pass  # as for any message: there is no stream left to report it on
        try:
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # any text in any locale
            sys.stdout.write(self.stdout)
            sys.stdout.flush()
        except OSError:
            return False
        return True


def split_folder(argv: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the folder that `-C` before a command names, else the current one, and the words from the command on."""
    has_folder = len(argv) > 2 and argv[0] == "-C"  # noqa: PLR2004  # -C, a folder, a command
    return (argv[1], argv[2:]) if has_folder else (".", argv)


def make_question(argv: Sequence[str]) -> CommandQuestion | None:
    """Return the question of a command line; None where no answer is kept, or a walk cannot tell its facts."""
    start, words = split_folder(argv)
    if not words or words[0] not in COMMANDS or sys.stdout is None or sys.stderr is None:
        return None
    asked = time.time_ns()
    try:
        start = os.path.realpath(start, strict=True)
        bare = is_git_directory(start)
        top = start if bare else find_top(start)
        directories = find_git_directories(top) if top else []
        # Of a repository of somebody else git asks its user's settings whether it may be read.
        if not top or not directories or any(os.stat(path).st_uid != os.geteuid() for path in (top, *directories)):
            return None
        facts = Facts()
        facts.add(tuple(argv), start, os.getcwd(), *_list_surroundings())
        add_code(facts)
        for directory in directories:
            _add_git_directory(facts, directory)
        if not bare:
            _add_store(facts, find_root(start, top), _UNREAD_FOLDERS.get(words[0], ""))
        return None if facts.has_link else CommandQuestion(words[0], directories[0], asked, facts)
    except (OSError, OverflowError, ValueError):
        return None


def find_answer(question: CommandQuestion) -> CommandAnswer | None:
    """Return what is kept for a question; None without it, and for what is damaged or of another user."""
    try:
        descriptor = os.open(f"{question.directory}/{question.file}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            is_ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022
            if not is_ours or found.st_size > LIMIT:
                return None
            head, _, body = file.read().partition(b"\n")
        code, length = map(int, head.split(b" ")[1:3])
        if head != _format_head(question, code, length, body):
            return None
        text = body.decode("utf-8", "surrogatepass")
        return CommandAnswer(code, text[:length], text[length:])
    except (OSError, ValueError):
        return None


def keep_answer(question: CommandQuestion, answer: CommandAnswer) -> None:
    """Keep an answer, unless a file was changed so lately that its next change may go unseen."""
    from pathlib import Path

    from evalstore.errors import EvalstoreError
    from evalstore.files import place_below, remove_below, sweep_below, write_aside_below

    body = (answer.stdout + answer.stderr).encode("utf-8", "surrogatepass")
    if question.newest > question.asked - SETTLED or len(body) > LIMIT >> 1:
        return
    directory, head = Path(question.directory), _format_head(question, answer.code, len(answer.stdout), body)
    try:
        sweep_below(directory, question.file)
        write_aside_below(directory, question.file, [head, b"\n", body], mode=0o600)
        place_below(directory, question.file)
        # Where files have another clock than we have, nothing can be said of when they were changed.
        if abs((directory / question.file).lstat().st_mtime_ns - time.time_ns()) > _DRIFT:
            remove_below(directory, question.file)
    except (EvalstoreError, OSError):  # where the git directory cannot be written, nothing is kept
        return


def add_code(facts: Facts) -> None:
    """Add what the program is: its version and Python's, all of its code and schemas, and what else is installed."""
    facts.add(VERSION, sys.version)
    package = os.path.dirname(os.path.realpath(__file__))
    for folder in (package, os.path.join(os.path.dirname(package), "schema")):
        if os.path.isdir(folder):  # in a wheel the schemas lie within the package
            facts.add_tree(folder, "__pycache__")
    for folder in sys.path:
        if folder.endswith("-packages"):  # which every installation changes
            facts.add_file(os.path.realpath(folder))


def _list_surroundings() -> Iterator[object]:
    """Yield what is neither code nor store: the day, the variables, the streams, and the programs that may be run."""
    yield time.strftime("%Y-%m-%d", time.gmtime())
    yield os.geteuid()
    yield [(name, os.environ.get(name)) for name in _VARIABLES]
    for stream in (sys.stdout, sys.stderr):
        yield stream.encoding, stream.isatty(), os.get_terminal_size(stream.fileno()) if stream.isatty() else None
    for name in _PROGRAMS:
        paths = (os.path.join(folder, name) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep))
        yield [(path, found.st_mtime_ns, found.st_size) for path in paths if (found := _find_status(path))]


def _find_status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _add_git_directory(facts: Facts, directory: str) -> None:
    _add_folder(facts, directory, _UNREAD_NAMES)
    _add_folder(facts, f"{directory}/{FOLDER}", prefixes=_KEPT_NAMES)
    _add_folder(facts, f"{directory}/objects/info")
    facts.add_file(f"{directory}/objects/pack")


def _add_folder(facts: Facts, folder: str, skipped: Container[str] = (), prefixes: tuple[str, ...] = ()) -> None:
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name not in skipped and not name.startswith(prefixes):
            facts.add_file(f"{folder}/{name}")
            if os.path.isdir(f"{folder}/{name}"):
                facts.add_tree(f"{folder}/{name}")


def _add_store(facts: Facts, root: str, unread: str) -> None:
    for name in _STORE_FILES:
        facts.add_file(f"{root}/{name}")
    for name in _STORE_FOLDERS:
        facts.add_file(f"{root}/{name}")
        if os.path.isdir(f"{root}/{name}"):
            facts.add_tree(f"{root}/{name}", unread)


def _format_head(question: CommandQuestion, code: int, length: int, body: bytes) -> bytes:
    return f"{question.digest} {code} {length} {hashlib.sha256(body).hexdigest()}".encode("ascii")
