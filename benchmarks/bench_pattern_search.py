"""What a search by `patterns.matcher` costs beside the engine alone: ordinary patterns, and the worst; in ratios."""

from __future__ import annotations

import time
from collections.abc import Callable

import regex

from evalstore.patterns.matcher import PatternMatcher, compile_matcher

# Answers of some 2,500 and 25,000 characters, in which most of these find nothing.
_SENTENCE = "To clear the page, add the #cache key with its tags; 3 of 4 editors (see docs) forget it, 2024-05-01. "
_TEXT = _SENTENCE * 24 + "\n```php\n$build['#cache']['tags'][] = 'node:1';\n```\n"
_ORDINARY = [
    ("cache tags?", ""),
    (r"\bfoo\b|\bbar\b", ""),
    ("(yes|no|unsure)", "i"),
    (r"\d{4}-\d{2}-\d{3}", ""),
    (r"^\s*\{.*\}\s*$", "s"),
    (r"[\w.+-]+@[\w-]+\.\w+", ""),
    (r"```(?:python)\n.*?```", "s"),
    ("first.{0,40}then", "i"),
    ("first.*then", "s"),
    (r"#\w+\['keys'\]", ""),
    (r"\$\d+(?:,\d{3})*(?:\.\d\d)?", ""),
    (r"https?://[^\s)]+", ""),
    (r"^#{1,6}\s+\S", "m"),
    (r"^(?!.*(?:TODO|FIXME))", "s"),
    (r"\s*(foo|bar)", ""),
    ("|".join(f"word{n}" for n in range(20)), "i"),
    (r"\b(\w+)\s+\1\b", ""),
    (r"(?<!not )correct", "i"),
]
_WORST = {
    r"\s*(foo|bar)": " ",
    "a*a*a*[bc]": "a",
    r"(a+)+b": "a",
    "foo.*bar": "foo",
    r"[\w.]+@[\w.]+\.\w+": "a.",
    "a.*b.*c": "ab",
}


def measure(run: Callable[[], object], times: int) -> float:
    """Return the best of nine rounds in the processor's time, per call, in microseconds."""
    rounds = []
    for _ in range(9):
        start = time.process_time()
        for _ in range(times):
            run()
        rounds.append(time.process_time() - start)
    return min(rounds) / times * 1e6


def build(pattern: str, flags: str = "") -> PatternMatcher:
    matcher = compile_matcher(pattern, flags, "search")
    if isinstance(matcher, str):
        raise SystemExit(matcher)
    return matcher


def compare_searches(pattern: str, flags: str, text: str) -> tuple[float, float]:
    """Return the microseconds of the engine, with a limit of a second as it had one, and ours."""
    compiled = regex.compile(pattern, sum((regex.RegexFlag[flag.upper()] for flag in flags), regex.VERSION0))
    matcher = build(pattern, flags)
    start = time.process_time()
    matcher.is_found(text)  # the bound of its work is found once
    first = time.process_time() - start
    engine, ours = measure(lambda: compiled.search(text, timeout=1.0), 50), measure(lambda: matcher.is_found(text), 50)
    print(
        f"{pattern[:32]:32} {len(text):6,} characters: engine {engine:7.1f} us, ours {ours:7.1f} us "
        f"({ours / engine:.2f} x); first {first * 1e3:.1f} ms"
    )
    return engine, ours


def main() -> None:
    for text in (_TEXT, _TEXT * 10):
        pairs = [compare_searches(pattern, flags, text) for pattern, flags in _ORDINARY]
        engine, ours = (sum(times) for times in zip(*pairs, strict=True))
        print(f"together, {len(text):,} characters: {ours / engine:.2f} x the engine alone")
    for pattern, unit in _WORST.items():
        matcher, times = build(pattern), []
        for length in (1_000, 10_000, 100_000, 1_000_000):
            text = unit * (length // len(unit))
            start = time.process_time()
            matcher.is_found(text)
            times.append(f"{length:,}: {(time.process_time() - start) * 1e3:.1f} ms")
        print(f"worst, {pattern}: {'; '.join(times)}")


if __name__ == "__main__":
    main()
