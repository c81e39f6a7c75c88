"""What the check kinds cost beside the least that the same answer can cost, in ratios, which hold on other machines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from jsonschema import Draft202012Validator
from referencing import Registry

from evalstore.checks import evaluate, prepare_rubric
from evalstore.checks.markdown import count_by_commonmark, count_by_lines
from evalstore.checks.untrusted_schemas import compile_untrusted
from evalstore.documents import read_value
from evalstore.model import Output, Sample, read_rubric

_VALUES = [f"phrase number {n}" for n in range(20)]
_TEXT = "An answer of two kilobytes, as models write them, with Some Capitals. " * 28
_MARKDOWN = "## A heading\n\nSome text that `is` *marked* and goes on.\n\n- one\n- two\n\n```php\necho 1;\n```\n\n" * 40
_RUBRIC = {"checks": [{"kind": "must_contain_any", "values": _VALUES}], "scoring": {"combine": "all_pass"}}
_SCHEMA = {
    "type": "object",
    "required": ["items"],
    "properties": {
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "price"],
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "price": {"type": "number", "minimum": 0},
                    "tier": {"enum": ["free", "paid"]},
                },
                "additionalProperties": False,
            },
        }
    },
}
_JSON = json.dumps({"items": [{"name": "one of twenty", "price": 2.5, "tier": "free"}] * 20})
_CHECK = {"kind": "json_schema", "schema": _SCHEMA}


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


def json_schema() -> None:
    """Hold the same value against the same schema: the library alone, with our guards, and a whole check."""
    value, alone = read_value(_JSON, "output"), Draft202012Validator(_SCHEMA, registry=Registry())
    guarded = compile_untrusted(_SCHEMA)
    rubric = read_rubric({"checks": [_CHECK], "scoring": {"combine": "all_pass"}})
    grade = prepare_rubric(rubric)
    floor = microseconds(lambda: alone.is_valid(value), 100)
    print(f"JSON Schema, {len(_JSON) / 1000:.1f} KB: jsonschema {floor:.0f} us, guarded", end=" ")
    ours = microseconds(lambda: guarded.is_valid(value), 100)
    whole = microseconds(lambda: grade(Sample(Output(_JSON))), 100)
    print(f"{ours:.0f} us ({ours / floor:.2f} x), the check with its reading {whole:.0f} us")
    try:
        import jsonschema_rs
    except ImportError:
        return
    fast = jsonschema_rs.Draft202012Validator(_SCHEMA)
    rust = microseconds(lambda: fast.is_valid(value), 1000)
    print(f"  jsonschema-rs, without steps: {rust:.1f} us ({floor / rust:.0f} x faster than jsonschema)")


def many_phrases() -> None:
    """Look for twelve checks of 4,000 phrases in a million characters that nearly have them: `in` alone, and checks."""
    phrases = [f"{'ab' * 10}{number}" for number in range(48_000)]
    checks = [
        {"id": f"c{part}", "kind": "must_contain_any", "values": phrases[part * 4_000 : (part + 1) * 4_000]}
        for part in range(12)
    ]
    rubric = read_rubric({"checks": checks, "scoring": {"combine": "min"}})
    # One phrase in a hundred stands for all.
    floor, ours = 1e9, 1e9
    for text in ("ab" * 500_000, "ba" * 500_000):
        start = time.process_time()
        found = sum(phrase in text for phrase in phrases[::100])
        floor, start = min(floor, (time.process_time() - start) * 100), time.process_time()
        score = evaluate(rubric, text).score
        ours = min(ours, time.process_time() - start)
        if found or score:
            raise SystemExit("a phrase is found that is not there")
    print(f"48,000 phrases, 1 MB: bare `in` {floor:.1f} s, twelve checks {ours:.2f} s ({ours / floor:.3f} x)")


def main() -> None:
    rubric = read_rubric(_RUBRIC)
    floor = microseconds(bare, 2000)
    ours = microseconds(lambda: evaluate(rubric, _TEXT), 2000)
    mapping = microseconds(lambda: evaluate(_RUBRIC, _TEXT), 2000)
    print(f"20 phrases, 2 KB: bare `in` {floor:.1f} us, evaluate {ours:.1f} us ({ours / floor:.2f} x)")
    print(f"  from a mapping, read each time: {mapping:.1f} us ({mapping / floor:.2f} x)")
    blocks, whole, rows = (
        microseconds(lambda: count_by_commonmark(_MARKDOWN), 20),
        microseconds(cmark_like, 20),
        microseconds(lambda: count_by_lines(_MARKDOWN), 20),
    )
    print(f"Markdown, {len(_MARKDOWN) / 1000:.1f} KB: commonmark {blocks / 1000:.2f} ms, lines {rows / 1000:.2f} ms")
    print(f"  the parser with inline markup: {whole / 1000:.2f} ms ({whole / blocks:.1f} x)")
    json_schema()
    many_phrases()


if __name__ == "__main__":
    main()
