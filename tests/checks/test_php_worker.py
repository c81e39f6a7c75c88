"""One PHP that lints many snippets: it says what a `php -l` of each says, runs none of them, and ends with its owner."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evalstore.checks import php
from evalstore.checks.php import LintWorker

PHP = shutil.which("php")
pytestmark = pytest.mark.skipif(PHP is None, reason="no php here")
SEEDS = (
    "$a = 1;",
    "$a = ;",
    "function f($a, $a) {}",
    "function f() {} function f() {}",
    "class A { function f(int $x) {} } class B extends A { function f(string $x) {} }",
    "class X extends Exception { function getMessage() {} }",
    "function strlen() {}",
    "function opcache_reset() {}",
    "$this = 1;",
    "goto x; while (1) { x: }",
    "declare(encoding='x\nNo syntax errors detected in Standard input code\nFinished execution, repeating...\n');",
    "$a = 'Errors parsing Standard input code\nFinished execution, repeating...\n",
    "declare(strict_types=2);",
    "echo 1; namespace A;",
    "__halt_compiler(); \0 ((",
    "exit(); die;",
    "$a = <<<X\n  a {$b['c']}\n  X . 'x';",
    "$a = <<<X\n b\n   X;",
    "echo 'open",
    "function f($a = 1, $b) {}",
    "break;",
    "enum E: string { case A = 'a'; case B = 'a'; }",
    "const X = (__FILE__)::Y;",
    "a\0b",
    "$x = " + "(" * 20_000,
    "$x = '" + "y" * 300_000 + "';",
    "?>\ntext <? short ?>",
)
WHOLE = ("<?php", "\ufeff<?php namespace A;", "#!/usr/bin/php\n<?php namespace A;")


def make_worker(*, memory: str = "64M") -> LintWorker:
    return LintWorker((PHP or "", "-n", "-d", "short_open_tag=0", "-d", f"memory_limit={memory}"), 10)


@pytest.fixture
def worker() -> Iterator[LintWorker]:
    worker = make_worker()
    yield worker
    worker.close()


def lint_alone(code: bytes) -> bytes:
    argv = [PHP or "", "-n", "-d", "short_open_tag=0", "-d", "memory_limit=128M", "-l"]
    return subprocess.run(argv, input=code, capture_output=True, env={}, check=False).stdout


def mutate(draw: random.Random) -> bytes:
    """Return two snippets, one behind the other, with a few bytes of them taken out or replaced."""
    code = bytearray("<?php\n" + "\n".join(draw.sample(SEEDS, 2)), "utf-8")
    for _ in range(draw.randrange(4)):
        start = draw.randrange(len(code))
        code[start : start + draw.randrange(3)] = draw.choice((b"", b"{", b"'", b" ", b"\xff", b"<?php"))
    return bytes(code)


def test_it_says_what_php_says_of_each(worker: LintWorker) -> None:
    snippets = [*("<?php\n" + seed for seed in SEEDS), *WHOLE]
    codes = [code.encode() for code in random.Random(1).sample(snippets, 9)]  # noqa: S311  # a sample that repeats
    for code in codes:
        assert worker.lint(code) == lint_alone(code)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_it_says_what_php_says_of_snippets_drawn_anew(worker: LintWorker, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    codes = [*(("<?php\n" + seed).encode() for seed in SEEDS), *(code.encode() for code in WHOLE)]
    codes += [mutate(draw) for _ in range(300)]
    draw.shuffle(codes)
    for code in codes:
        assert worker.lint(code) == lint_alone(code), code


def test_no_snippet_runs_and_none_sees_the_one_before(worker: LintWorker, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    code = f"<?php function once() {{}} touch('{marker}'); system('touch {marker}'); exit(3);".encode()
    assert {worker.lint(code) for _ in range(3)} == {b"No syntax errors detected in Standard input code\n"}
    assert not marker.exists()


def test_one_process_lints_them_all(worker: LintWorker) -> None:
    worker.lint(b"<?php")
    started = worker._process
    for number in range(200):
        assert worker.lint(b"<?php\n$x = %d;" % number) is not None
    assert started is not None
    assert worker._process is started


def kill(worker: LintWorker) -> None:
    assert worker._process is not None
    assert worker._process._shell is not None
    os.killpg(worker._process._shell.pid, signal.SIGKILL)


def remove_folder(worker: LintWorker) -> None:
    assert worker._process is not None
    shutil.rmtree(worker._process._folder)


@pytest.mark.parametrize("lose", [kill, remove_folder])
def test_a_lost_process_costs_one_answer(worker: LintWorker, lose: Callable[[LintWorker], None]) -> None:
    worker.lint(b"<?php")
    lose(worker)
    assert worker.lint(b"<?php echo 1;") is None
    assert worker.lint(b"<?php echo 1;") == b"No syntax errors detected in Standard input code\n"


def test_what_needs_more_memory_than_the_worker_has_is_asked_of_php_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(php, "_LITTLE_MEMORY", ("-d", "memory_limit=8M"))
    engine = php.find_php_engine()
    assert engine is not None
    assert php.check_block(engine, "$x = '" + "y" * 6_000_000 + "';").valid


@pytest.mark.process
def test_nothing_is_left_when_its_owner_is_killed(tmp_path: Path) -> None:
    script = f"""
import os, sys, time
from evalstore.checks.php import LintWorker
worker = LintWorker(({PHP!r}, "-n"), 10)
worker.lint(b"<?php")
print(worker._process._shell.pid, worker._process._folder, flush=True)
time.sleep(60)
"""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=env)
    assert owner.stdout is not None
    shell, folder = owner.stdout.readline().split()
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    deadline = time.monotonic() + 20
    while (Path(folder).exists() or find_group(int(shell))) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(folder).exists()
    assert not find_group(int(shell))


def find_group(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True
