"""Where PHP blocks are found, and what says whether they are valid: php, the embedded parser, or nothing."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.checks import evaluate, php
from evalstore.errors import RefusedError
from evalstore.model import UnscoredReason, Verdict

needs_php = pytest.mark.skipif(shutil.which("php") is None, reason="no php here")
RUBRIC = {"checks": [{"kind": "php_lint"}], "scoring": {"combine": "min"}}
BROKEN = "```php\necho (;\n```"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Forget the engine of earlier tests, and of this one afterwards."""
    php.find_php_engine.cache_clear()
    php.check_block.cache_clear()
    yield
    php.find_php_engine.cache_clear()
    php.check_block.cache_clear()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `php` of our own, alone on PATH; it says its version, knows no --repeat, and then does what the test writes."""
    path = tmp_path / "bin" / "php"
    path.parent.mkdir()
    monkeypatch.setenv("PATH", str(path.parent))
    return path


def write(program: Path, check_block: str) -> None:
    program.write_text(
        f'#!/bin/sh\nfor last; do :; done\nif [ "$last" = -v ]; then echo "PHP 9.9.9 (cli)"; exit; fi\n'
        f'case "$*" in *--repeat*) exit 64;; esac\n{check_block}\n'
    )
    program.chmod(0o755)


def answer(output: str) -> tuple[Verdict, str, str, UnscoredReason | None]:
    (check,) = evaluate(RUBRIC, output).checks
    return check.verdict, check.engine, check.reason, check.unscored


pieces = st.lists(
    st.sampled_from(["```php", "```", "``", "`", "\n", "php", "a", " ", "\r\n", "<?php", "~~~"]), max_size=14
)


@given(pieces.map("".join))
def test_blocks_are_found_as_the_legacy_grader_finds_them(text: str) -> None:
    assert php.find_legacy_blocks(text) == re.findall(r"```php[^\n]*\n(.*?)```", text, re.DOTALL)


def test_blocks_are_found_in_linear_time() -> None:
    start = time.process_time()
    assert php.find_legacy_blocks("```php" * 200_000) == []
    assert len(php.find_legacy_blocks("```php\n```" * 100_000)) == 100_000
    assert time.process_time() - start < 2


@needs_php
def test_php_answers_with_its_version() -> None:
    verdict, engine, reason, _ = answer(BROKEN)
    assert verdict is Verdict.FAIL
    assert re.fullmatch(r"php [0-9]+\.[0-9]+\.[0-9]+", engine)
    assert reason.startswith("php block 1: Parse error")


@needs_php
def test_php_code_is_never_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    assert (
        answer(f"```php\n<?php touch('{marker}'); system('touch {marker}'); __halt_compiler();\n```")[0] is Verdict.PASS
    )
    assert not marker.exists()


@needs_php
def test_php_reads_no_settings_of_the_folder_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "php.ini").write_text("short_open_tag=1\nauto_prepend_file=/nowhere\n")
    monkeypatch.setenv("PHPRC", str(tmp_path))
    monkeypatch.setenv("PHP_INI_SCAN_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert answer("```php\n<?php ?>\n<? this is text\n```")[0] is Verdict.PASS


def test_a_php_that_only_the_current_folder_supplies_does_not_count(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(program, "exit 0")
    monkeypatch.chdir(program.parent)
    monkeypatch.setenv("PATH", ".")
    assert php.find_php() is None
    monkeypatch.setenv("PATH", str(program.parent))
    assert php.find_php() == str(program)


def test_a_block_is_linted_once(program: Path, tmp_path: Path) -> None:
    count = tmp_path / "count"
    write(program, f"echo x >> {count}\nexit 0")
    block = "```php\n$a = 1;\n```\n"
    assert answer(block * 3)[:2] == (Verdict.PASS, "php 9.9.9")
    assert answer(block)[0] is Verdict.PASS
    assert count.read_text().count("x") == 1


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "echo; echo 'Fatal error: Allowed memory size of 134217728 bytes exhausted'; exit 255",
            "could not check the code",
        ),
        ("exit 137", "could not check the code (exit 137)"),
        ("kill -9 $$", "could not check the code (exit -9)"),
    ],
)
def test_what_php_could_not_tell_is_no_verdict(program: Path, script: str, said: str) -> None:
    write(program, script)
    verdict, engine, reason, unscored = answer("```php\n$a = 1;\n```")
    assert (verdict, engine, unscored) == (Verdict.UNSCORED, "php 9.9.9", UnscoredReason.ERROR)
    assert said in reason


@pytest.mark.parametrize("action", ["-l", "-v"])
def test_no_clock_decides_a_verdict(program: Path, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    monkeypatch.setattr(php, "SECONDS", 0.3)
    write(program, "exec sleep 9")
    if action == "-v":
        program.write_text("#!/bin/sh\nexec sleep 9\n")
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    with pytest.raises(RefusedError, match=f"`php {action}` did not finish within 0.3 s"):
        answer("```php\n$a = 1;\n```")


def test_a_php_that_vanishes_is_no_verdict(program: Path) -> None:
    write(program, "exit 0")
    assert php.find_php_engine() == php.PhpEngine("php 9.9.9", str(program))
    program.unlink()
    verdict, _, reason, unscored = answer("```php\n$a = 1;\n```")
    assert (verdict, unscored) == (Verdict.UNSCORED, UnscoredReason.ERROR)
    assert "could not be started: No such file" in reason


def test_a_broken_block_fails_even_beside_one_that_could_not_be_judged(program: Path) -> None:
    write(program, "read -r first\nread -r second\ncase $second in bad*) exit 255;; esac\nexit 137")
    assert answer("```php\nodd\n```\n```php\nbad\n```")[0] is Verdict.FAIL


@pytest.mark.parametrize("script", [None, "not a program", "#!/nowhere/at/all\n", "#!/bin/sh\necho hello\n"])
def test_without_a_php_that_says_its_version_the_embedded_parser_answers(program: Path, script: str | None) -> None:
    pytest.importorskip("tree_sitter_php")
    if script is not None:
        program.write_text(script)
        program.chmod(0o755)
    engine = "tree-sitter-php (approximate)"
    assert answer(BROKEN)[:2] == (Verdict.FAIL, engine)
    assert answer("```php\n$a = [1, 2];\n```")[:2] == (Verdict.PASS, engine)
    assert answer("no code")[:2] == (Verdict.PASS, "evalstore")


@pytest.mark.usefixtures("program")
def test_with_neither_the_check_is_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tree_sitter_php", None)
    verdict, _, reason, unscored = answer(BROKEN)
    assert (verdict, unscored) == (Verdict.UNSCORED, UnscoredReason.ERROR)
    assert "install PHP" in reason
    assert answer("no code")[0] is Verdict.PASS


def test_half_a_surrogate_pair_does_not_end_in_a_traceback() -> None:
    assert answer("```php\n$a = '\ud800';\n```")[0] in set(Verdict)
    assert os.environ["PATH"]
