"""PHP syntax: where blocks are, and whether they are valid; sole user of php and tree-sitter.

Below `cli`, only this module and the one that runs git look at PATH: each owns a child process.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evalstore.checks.markdown import find_fenced_blocks
from evalstore.errors import RefusedError
from evalstore.model.outcome import APPROXIMATE
from evalstore.text import make_excerpt

SECONDS = 60  # then the command ends: a clock must not decide what is recorded
_OPEN, _FENCE = "```php", "```"
_VERSION = re.compile(rb"PHP ([0-9]+(?:\.[0-9]+)+)")
# No php.ini, no short tags, bounded memory: the answer depends on the code and on PHP's version
# only.
_OPTIONS = ("-n", "-d", "short_open_tag=0", "-d", "memory_limit=128M")
_BROKEN = 255
_OUT_OF_MEMORY = b"Allowed memory size of"


@dataclass(frozen=True, slots=True)
class PhpEngine:
    """What lints: its name in results, and the program's path (None: the embedded parser)."""

    name: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class LintResult:
    """Whether one block is valid syntax; None when the engine could not tell, as `message` says."""

    valid: bool | None
    message: str = ""


def find_commonmark_blocks(text: str) -> list[str]:
    """Return the fenced blocks whose language is php; the last may lack its closing fence.

    `LimitError` for a text beyond the parser's limits.
    """
    return [block.content for block in find_fenced_blocks(text) if block.language == "php"]


def find_legacy_blocks(text: str) -> list[str]:
    """Return what is between each line with ```` ```php ```` in it and the next ```` ``` ````.

    The tag is a prefix in lower case (```` ```phpt ```` counts), and an unclosed block is none.
    """
    # The legacy grader's regular expression takes quadratic time on a line of many openings; this
    # is the same, linear.
    blocks: list[str] = []
    end = 0
    while (start := text.find(_OPEN, end)) >= 0 and (line := text.find("\n", start)) >= 0:
        close = text.find(_FENCE, line + 1)
        if close < 0:
            break
        blocks.append(text[line + 1 : close])
        end = close + len(_FENCE)
    return blocks


DIALECTS: Mapping[str, Callable[[str], list[str]]] = {
    "commonmark": find_commonmark_blocks,
    "legacy": find_legacy_blocks,
}


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
    """Return the absolute path of `php`.

    One that the current folder would supply does not count.
    """
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
    """Run `php`; raises `RefusedError` if it does not finish, as its answer is then unknown."""
    try:
        # An absolute path and fixed arguments; the code goes in by stdin.
        return subprocess.run(  # noqa: S603
            [path, *_OPTIONS, action],
            input=code,
            capture_output=True,
            timeout=SECONDS,
            env={},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RefusedError(
            f"`php {action}` did not finish within {SECONDS} s, so a php_lint check has no result",
            hint=(
                "try again when the machine is less busy: evalstore records no result that "
                "depends on time"
            ),
        ) from error


def _lint_with_parser(code: bytes) -> LintResult:
    import tree_sitter
    import tree_sitter_php

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_php.language_php()))
    broken = parser.parse(code).root_node.has_error
    return LintResult(not broken, "invalid syntax" if broken else "")
