"""What comparing two patterns costs beside compiling both, and the most that any two can cost; in ratios."""

from __future__ import annotations

import time
from collections.abc import Callable

import regex

from evalstore.budget import SharedBudget
from evalstore.regex_inclusion import QUESTION_STEPS, Expression, compare_patterns

_PAIRS = {
    "a word more": (Expression("cim|deploy"), Expression("cim|cex|deploy")),
    "flag i said otherwise": (Expression("cache tags?", "i"), Expression("(?i)cache tag(?:s|)")),
    "anchored": (Expression(r"\A\s*\{.*\}\s*\Z", "s"), Expression(r"\s*\{.*\}\s*", "s", "fullmatch")),
    "words and digits": (Expression(r"\b\w+\s*=\s*\d+"), Expression(r"\b\w+ *= *\d+")),
    "two look-aheads": (Expression("(?s)(?=.*cim)(?=.*cex)"), Expression("(?s)cim.*cex|cex.*cim")),
    "a counted gap": (Expression("cache.{0,40}tag"), Expression("cache.{0,60}tag")),
}
_HOSTILE = {
    "states": (Expression("a.{30}b"), Expression("a.{30}c")),
    "and of or": (Expression("(?s)" + "(?=.*a.{9}b)(?!.*c.{9}d)" * 12), Expression("x")),
    "classes": (Expression("".join(f"[^{chr(97 + n)}{chr(200 + n)}]" for n in range(180))), Expression("x")),
    "letters, flag i": (Expression("".join(map(chr, range(0x4E00, 0x4E00 + 900))), "i"), Expression("x")),
    "nested counts": (Expression("(?:(?:(?:a|b){0,30}c){0,30}d){0,30}e"), Expression("x")),
    "one class": (Expression(f"[{''.join(map(chr, range(0x4E00, 0x4E00 + 900, 2)))}]", "i"), Expression("x")),
    "letters": (Expression("".join(map(chr, range(0x4E00, 0x4E00 + 990)))), Expression("x")),
    "loops": (Expression(f"(?:(?:{'abcdefghijklmnopqrstuvwxyz' * 12})*x){{0,1000}}"), Expression("x")),
    "forks": (Expression("(?:a|ab|abc|b|bc|c)*" * 40), Expression("x")),
}


def milliseconds(run: Callable[[], object], times: int) -> float:
    """Return the best of five rounds in the processor's time, per call."""
    rounds = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(times):
            run()
        rounds.append(time.process_time() - start)
    return min(rounds) / times * 1e3


def compiled(*sides: Expression) -> None:
    regex.purge()
    for side in sides:
        regex.compile(side.pattern, sum((regex.RegexFlag[flag.upper()] for flag in side.flags), regex.VERSION0))


def main() -> None:
    start = time.process_time()
    compare_patterns(Expression("a", "i"), Expression(r"\w"))
    print(f"the first comparison of a process, which looks at all characters: {time.process_time() - start:.2f} s")
    for name, sides in _PAIRS.items():
        floor, ours = milliseconds(lambda: compiled(*sides), 20), milliseconds(lambda: compare_patterns(*sides), 5)  # noqa: B023  # called at once
        found = compare_patterns(*sides).relation
        print(f"{name}: {found}; compiling both {floor:.2f} ms, comparing them {ours:.1f} ms ({ours / floor:.0f} x)")
    for name, sides in _HOSTILE.items():
        budget = SharedBudget(QUESTION_STEPS)
        start = time.process_time()
        found = compare_patterns(*sides, budget).relation
        print(f"hostile, {name}: {found} after {time.process_time() - start:.2f} s, {max(budget.left, 0):,} steps left")


if __name__ == "__main__":
    main()
