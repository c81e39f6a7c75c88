"""Two texts as a unified diff, where there is nothing better to say; safe to show, and at once for any two texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff

from evalstore.report.value_diff import count_common_prefix
from evalstore.text import make_printable

_READ = 2000  # lines that are compared; more are told as gone and come
_AROUND = 3
_HUNK = re.compile(r"([-+])([0-9]+)")


def format_plain_diff(old: bytes | None, new: bytes | None, path: str) -> str:
    """Return how two files differ, None being absent; as git says it for what is no text."""
    names = [f"{side}/{path}" if data is not None else "/dev/null" for side, data in (("a", old), ("b", new))]
    if any(b"\0" in (data or b"") for data in (old, new)):
        return make_printable(f"Binary files {names[0]} and {names[1]} differ")
    before, after = (_safe_lines(data or b"") for data in (old, new))
    head = [make_printable(f"--- {names[0]}"), make_printable(f"+++ {names[1]}")]
    return "\n".join([*head, *_diff_hunks(before, after)])


def make_readable(data: bytes) -> str:
    """Return a file's text with every line safe to show."""
    return "\n".join(_safe_lines(data))


def _safe_lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "backslashreplace").removesuffix("\n")
    return ["\t".join(map(make_printable, line.split("\t"))) for line in text.split("\n")] if data else []


def _diff_hunks(old: list[str], new: list[str]) -> Iterator[str]:
    start = max(0, count_common_prefix(old, new) - _AROUND)
    old, new = old[start:], new[start:]
    if max(len(old), len(new)) > _READ:
        yield f"@@ -{start + 1},{len(old)} +{start + 1},{len(new)} @@"
        yield from (f"-{line}" for line in old)
        yield from (f"+{line}" for line in new)
        return
    for number, line in enumerate(unified_diff(old, new, lineterm="", n=_AROUND)):
        if number >= len(("---", "+++")):
            yield _HUNK.sub(lambda found: found[1] + str(int(found[2]) + start), line) if line[0] == "@" else line
