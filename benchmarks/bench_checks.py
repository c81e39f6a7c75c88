"""What the check kinds cost beside the least that the same answer can cost; ratios travel, times do not."""

from __future__ import annotations

import time
from collections.abc import Callable

from evalstore.checks import evaluate
from evalstore.checks.shape import commonmark, lines
from evalstore.model import rubric_of

_VALUES = [f"phrase number {n}" for n in range(20)]
_TEXT = "An answer of two kilobytes, as models write them, with Some Capitals. " * 28
_MARKDOWN = "## A heading\n\nSome text that `is` *marked* and goes on.\n\n- one\n- two\n\n```php\necho 1;\n```\n\n" * 40
_RUBRIC = {"checks": [{"kind": "must_contain_any", "values": _VALUES}], "scoring": {"combine": "all_pass"}}


def microseconds(run: Callable[[], object], times: int) -> float:
    """Return the best of five rounds, per call."""
    rounds = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(times):
            run()
        rounds.append(time.perf_counter() - start)
    return min(rounds) / times * 1e6


def bare() -> bool:
    text = _TEXT.lower()
    return any(value.lower() in text for value in _VALUES)


def cmark_like() -> int:
    """Count with the same parser, looking inside every line, as rendering would."""
    from markdown_it import MarkdownIt

    return len(MarkdownIt("commonmark").parse(_MARKDOWN))


def main() -> None:
    rubric = rubric_of(_RUBRIC)
    floor = microseconds(bare, 2000)
    ours = microseconds(lambda: evaluate(rubric, _TEXT), 2000)
    mapping = microseconds(lambda: evaluate(_RUBRIC, _TEXT), 2000)
    print(f"20 phrases, 2 KB: bare `in` {floor:.1f} us, evaluate {ours:.1f} us ({ours / floor:.2f} x)")
    print(f"  from a mapping, read each time: {mapping:.1f} us ({mapping / floor:.2f} x)")
    blocks, whole, rows = (
        microseconds(lambda: commonmark(_MARKDOWN), 20),
        microseconds(cmark_like, 20),
        microseconds(lambda: lines(_MARKDOWN), 20),
    )
    print(f"Markdown, {len(_MARKDOWN) / 1000:.1f} KB: commonmark {blocks / 1000:.2f} ms, lines {rows / 1000:.2f} ms")
    print(f"  the parser with inline markup: {whole / 1000:.2f} ms ({whole / blocks:.1f} x)")


if __name__ == "__main__":
    main()
