"""Runs real git sealed from the user's settings, with a temporary home and a clock that the fixtures advance."""

from __future__ import annotations

import fcntl
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import IO, Any, NamedTuple

import pytest
from hypothesis import is_hypothesis_test, settings

import evalstore.api
import evalstore.demo
from evalstore.__main__ import run as run_evalstore
from evalstore.demo import CommandResult
from tests.distributions import build_distributions

ROOT = Path(__file__).resolve().parents[1]

# A test that samples draws the same every time; `make fuzz` draws with new seeds.
settings.register_profile("again", derandomize=True, database=None, deadline=None)
settings.register_profile("anew", database=None, deadline=None, print_blob=True)
settings.load_profile("again")

MEMORY, MEMORY_LEAST = Path("/dev/shm"), 1 << 30  # noqa: S108  # pytest makes a folder of its own in it

collect_ignore = ["cases"]  # folders of data, a thousand and more

STARTERS = ("process", "chaos", "slow")  # the marks of tests that may start Python
_start = subprocess.Popen.__init__

# Without maintenance, which is a process of its own at the end of every commit.
_GIT_CONFIG = "[user]\n\tname = Ada Tester\n\temail = ada@example.org\n[maintenance]\n\tauto = false\n[init]\n\tdefaultBranch = main\n\ttemplateDir = "
_HOMES: list[Path] = []  # of this process
_GIT_TEMPLATES: list[Path] = []
_NEW_REPOSITORIES: list[Path] = []


@dataclass(frozen=True)
class Ran:
    """What a command answered; what it says to do next, at the end of its stderr, stands by itself."""

    code: int
    out: str
    err: str
    next_steps: str = ""

    @classmethod
    def split(cls, code: int, out: str, err: str) -> Ran:
        """Return an answer of which stderr is divided."""
        steps = re.search(r"^next: (?s:.*)\Z", err, re.MULTILINE)
        return cls(code, out, err[: steps.start()], steps[0]) if steps else cls(code, out, err)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests whose fixtures start processes, and keep the budgets of sampling to the long form."""
    short = not config.getoption("--hypothesis-profile")
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if {"browser", "cli_process", "wheel"} & fixtures:
            item.add_marker("process")
        if "demo" in fixtures:
            item.add_marker("heavy")
        drawn = isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)
        if "samples" in fixtures or drawn:
            item.add_marker("sampling")
        if short and drawn:
            whole = item.obj._hypothesis_internal_use_settings
            item.obj._hypothesis_internal_use_settings = settings(whole, max_examples=_few(whole.max_examples))


def pytest_configure() -> None:
    """Keep temporary folders in memory, and let children be interrupted even where a shell lets the run ignore it."""
    # Git and evalstore sync what they write, thousands of times; the workers of a run are given a folder within it.
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_LEAST:
        os.environ.setdefault("TMPDIR", str(MEMORY))
        tempfile.tempdir = None  # what was asked before is forgotten
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let the garbage collector pass by ten thousand tests and the libraries, which live as long as the run."""
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(1_000_000, 50, 100)  # as the command does; a twentieth of the time otherwise
    gc.enable()


@pytest.fixture(autouse=True)
def sealed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    _seal(_find_home(tmp_path_factory), monkeypatch)
    if not any(request.node.get_closest_marker(name) for name in STARTERS):
        monkeypatch.setattr(subprocess.Popen, "__init__", _start_no_python)


def _find_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the home of the last test, or a new one where that test has written into it."""
    last = _HOMES[-1] if _HOMES else None
    text = f"{_GIT_CONFIG}{_find_git_template(tmp_path_factory)}\n"
    if last and [path.name for path in last.iterdir()] == [".gitconfig"] and (last / ".gitconfig").read_text() == text:
        return last
    _HOMES.append(tmp_path_factory.mktemp("home"))
    (_HOMES[-1] / ".gitconfig").write_text(text)
    return _HOMES[-1]


def _find_git_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what `git init` copies: a folder for hooks without the samples, which every copy would carry along."""
    if not _GIT_TEMPLATES:
        _GIT_TEMPLATES.append(tmp_path_factory.mktemp("git-template"))
        (_GIT_TEMPLATES[0] / "hooks").mkdir()
    return _GIT_TEMPLATES[0]


def _start_no_python(process: subprocess.Popen[Any], argv: Any, *more: Any, **named: Any) -> None:
    assert argv[0] != sys.executable, "this test starts Python: use the fixture `cli`, or mark it `process`"
    _start(process, argv, *more, **named)


def _seal(home: Path, patch: pytest.MonkeyPatch) -> None:
    patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # else each process compiles the whole package
    for name in [key for key in os.environ if key.startswith(("GIT_", "EVALSTORE_", "OPENAI_"))]:
        patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    patch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("SOURCE_DATE_EPOCH", "FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR", "COLUMNS"):
        patch.delenv(name, raising=False)


def _find_new_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository as `git init` makes it: a copy costs a quarter of the process."""
    if not _NEW_REPOSITORIES:
        _NEW_REPOSITORIES.append(tmp_path_factory.mktemp("new") / "repo")
        subprocess.run(["git", "init", "-q", str(_NEW_REPOSITORIES[0])], check=True)
    return _NEW_REPOSITORIES[0]


@pytest.fixture
def git(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Run git in the repository `tmp_path/repo` (made on first use); every commit is a minute after the last.

    Without words it only makes the repository.
    """
    repo = tmp_path / "repo"

    def run(*argv: str, cwd: Path | None = None, stdin: str | None = None, check: bool = True, **more: str) -> str:
        if not repo.exists():
            shutil.copytree(_find_new_repository(tmp_path_factory), repo)
        run.minute += 1  # type: ignore[attr-defined]
        if not argv:
            return ""
        stamp = f"{1_760_000_000 + 60 * run.minute} +0000"  # type: ignore[attr-defined]
        env = {**os.environ, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp, **more}
        done = subprocess.run(
            ["git", *argv],
            cwd=cwd or repo,
            env=env,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.strip()

    run.minute = -1  # type: ignore[attr-defined]
    return run


class Template(NamedTuple):
    """Repositories that were made once: copies of them, where they were made, their clock, and what their maker said."""

    copies: Path
    origin: Path
    minute: int
    answer: Any


_TEMPLATES: dict[str, Template] = {}  # of this process


@pytest.fixture
def template(git: Callable[..., str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Let a function make the repository of `git` once for all tests that name it so; the others get a copy.

    Repositories beside it, such as its remote, are named, too: their copies refer to each other.
    """

    def make(name: str, build: Callable[[], Any], *beside: str) -> Any:
        folders = ("repo", *beside)
        if name not in _TEMPLATES:
            answer, copies = build(), tmp_path_factory.mktemp("template")
            for folder in folders:
                shutil.copytree(tmp_path / folder, copies / folder, symlinks=True)
            _TEMPLATES[name] = Template(copies, tmp_path, git.minute, answer)  # type: ignore[attr-defined]
            return answer
        made = _TEMPLATES[name]
        git.minute = made.minute  # type: ignore[attr-defined]
        for folder in folders:
            shutil.rmtree(tmp_path / folder, ignore_errors=True)
            shutil.copytree(made.copies / folder, tmp_path / folder, symlinks=True)
            config = tmp_path / folder / ("config" if folder.endswith(".git") else ".git/config")
            config.write_text(config.read_text().replace(f"{made.origin}/", f"{tmp_path}/"))
        return made.answer

    return make


@pytest.fixture
def samples(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """Say how many of so many samples a test draws: all of them in `make fuzz`."""
    return int if request.config.getoption("--hypothesis-profile") else _few


def _few(count: int) -> int:
    return max(1, min(count // 16, 16))


@pytest.fixture
def cli() -> Callable[..., Ran]:
    """Run the real command within this process, with separate arguments, folder, environment and streams."""
    return _run_here


@pytest.fixture
def cli_process() -> Callable[..., Ran]:
    """Run the real command in a separate process, for what `cli` cannot show; such tests are marked `process`."""

    def run(*argv: str | Path, cwd: Path | None = None, stdin: str | None = None, **env: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "evalstore", *map(str, argv)],
            cwd=cwd,
            env={**os.environ, **env},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Ran.split(done.returncode, done.stdout, done.stderr)

    return run


def _run_here(
    *argv: str | Path, cwd: Path | None = None, stdin: str | None = None, terminal: int | None = None, **env: str
) -> Ran:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        patch.chdir(cwd or Path.cwd())
        patch.setattr(sys, "argv", ["evalstore", *map(str, argv)])
        with _streams(patch, (stdin or "").encode(), terminal) as written, pytest.raises(SystemExit) as end:
            run_evalstore()
    assert "Traceback" not in written["stderr"], written["stderr"]
    return Ran.split(int(end.value.code or 0), written["stdout"], written["stderr"])


@contextmanager
def _streams(patch: pytest.MonkeyPatch, stdin: bytes, terminal: int | None) -> Iterator[dict[str, str]]:
    """Replace the standard streams, down to the descriptors that children inherit; a terminal keeps what is written to it."""
    written: dict[str, str] = {}
    with ExitStack() as undo:
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            file = undo.enter_context(tempfile.TemporaryFile())
            own = os.dup(number)
            undo.callback(os.close, own)
            undo.callback(os.dup2, own, number)
            if name == "stdin":
                file.write(stdin)
                file.seek(0)
            os.dup2(terminal if number and terminal is not None else file.fileno(), number)
            mode, errors = ("w", "backslashreplace") if name == "stderr" else ("w" if number else "r", "strict")
            stream = undo.enter_context(open(number, mode, encoding="utf-8", errors=errors, closefd=False))
            patch.setattr(sys, name, stream)
            if number:
                undo.callback(_keep, written, name, file)
                undo.callback(stream.flush)
        yield written


def _keep(written: dict[str, str], name: str, file: IO[bytes]) -> None:
    file.seek(0)
    written[name] = file.read().decode()


@dataclass(frozen=True)
class Demo:
    """The sample story, replayed: its folder (copy it before you change it), and what is printed of it.

    All of its steps as text and as a document, and as text the five that are told by default.
    """

    folder: Path
    text: str
    document: str
    short: str


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and the sdist, and install the wheel into the folder `site` beside it; once for all workers."""
    with _once(tmp_path_factory, "wheel") as (place, done):
        if not done:
            build_distributions(ROOT, place)
            words = ["install", "--quiet", "--no-compile", "--no-deps", "--no-index", "--target", str(place / "site")]
            argv = [sys.executable, "-m", "pip", *words, str(next(place.glob("*.whl")))]
            subprocess.run(argv, check=True, capture_output=True)
        return next(place.glob("*.whl"))


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Replay the sample story, once for all workers of a run; its commands run in this process, which is much faster."""
    with _once(tmp_path_factory, "demo") as (place, done), pytest.MonkeyPatch.context() as patch:
        target, text, document, short = (place / name for name in ("store", "text", "document", "short"))
        if not done:
            _seal(_find_home(tmp_path_factory), patch)
            patch.setattr(evalstore.demo, "_run_command", _play_command)
            steps: list[Any] = []
            real = evalstore.api.replay_story
            patch.setattr(evalstore.api, "replay_story", lambda *args: (steps.append(it) or it for it in real(*args)))
            text.write_text(_tell(target, "--all"), "utf-8")
            patch.setattr(evalstore.api, "replay_story", lambda *_: iter(steps))
            document.write_text(_tell(target, "--format", "json"), "utf-8")
            short.write_text(_tell(target), "utf-8")
        return Demo(target, *(file.read_text("utf-8") for file in (text, document, short)))


def _play_command(words: tuple[str, ...], target: Path, env: Mapping[str, str]) -> CommandResult:
    found = tuple(str(next(target.glob(word)).relative_to(target)) if "*" in word else word for word in words)
    ran = _run_here(*found, cwd=target, **env)
    return CommandResult(found, ran.code, ran.out, ran.err + ran.next_steps)


@contextmanager
def _once(tmp_path_factory: pytest.TempPathFactory, name: str) -> Iterator[tuple[Path, bool]]:
    """Give all workers of a run one folder, one after the other; whether another has filled it already."""
    root = tmp_path_factory.getbasetemp()
    place = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / f"once-{name}"
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place, (place / "done").exists()
        (place / "done").touch()


def _tell(target: Path, *argv: str) -> str:
    ran = _run_here("demo", target, *argv)
    assert (ran.code, ran.err) == (0, ""), ran.err
    return ran.out


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium for all pages of a worker: see tests/report/browser.py."""
    module = _module("report/browser.py")
    if module.CHROMIUM is None:
        pytest.skip("Chromium is not installed, so no page is opened in a browser")
    with module.start_browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture
def judge_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A real endpoint on this machine that answers judges, or misbehaves on request: see tests/judging/server.py."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with _module("judging/server.py").serving() as server:
        yield server


def _module(path: str) -> ModuleType:
    """Load a module of the tests, which are not packages."""
    name = "tests." + path.replace("/", ".")
    if name not in sys.modules:
        spec = spec_from_file_location(name, Path(__file__).parent / path)
        assert spec
        assert spec.loader
        sys.modules[name] = module_from_spec(spec)  # where dataclasses look for their module
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
