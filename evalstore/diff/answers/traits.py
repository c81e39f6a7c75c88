"""Lists what several checks of one kind answer together, because they read the same traits of the output.

It is a source of joint answers, and proves nothing. Such a trait is its length, whether there is
PHP and whether that is valid, or how many headings it has. Traits may be listed together that no
output has: what is concluded from all ways to answer holds all the more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import NamedTuple

from evalstore.diff.kinds import Params
from evalstore.diff.kinds.markdown_structure import DEEPEST_HEADING
from evalstore.diff.limits import PROOFS
from evalstore.diff.rubric_state import CheckState
from evalstore.languages.patterns import OUTPUT_LIMIT
from evalstore.model import CheckResult, UnscoredReason, Verdict


class RawAnswer(NamedTuple):
    """What a check answers before it is turned round and held against its bar.

    `side`: the score is a limit, reached from below (-1) or from above (1), so that it stands for
    those beside it. `passes` is there where the verdict does not follow from the score.
    """

    score: Fraction | None
    unscored: UnscoredReason | None = None
    side: int = 0
    passes: bool | None = None


FAILED, PASSED = RawAnswer(Fraction(0)), RawAnswer(Fraction(1))
MISSING, ERROR = RawAnswer(None, UnscoredReason.MISSING), RawAnswer(None, UnscoredReason.ERROR)


def grade_answer(check: CheckState, raw: RawAnswer) -> CheckResult:
    """Return the result of a check with this raw answer: turned round where it is negated, held to its bar."""
    if raw.score is None:
        return CheckResult(check.token, check.kind, None, Verdict.UNSCORED, unscored=raw.unscored)
    score, side = (1 - raw.score, -raw.side) if check.negate else (raw.score, raw.side)
    passes = raw.passes if check.bar is None else (score, side) >= (check.bar, 0)
    return CheckResult(check.token, check.kind, score, Verdict.PASS if passes else Verdict.FAIL)


_HEADINGS, _LEVEL, _NO_H1, _SECTION = "min_headings", "max_heading_level", "no_h1", "section"

Answers = tuple[RawAnswer, ...]
# A demand: its dialect, its name and text; and how much is wanted, 0 of what holds or does not.
_Demand = tuple[tuple[str, ...], int]


def list_trait_answers(kind: str, checks: Sequence[Params]) -> Mapping[Answers, int] | None:
    """Return what these checks of one kind, by their parameters, can answer together to one output.

    With each way comes the most characters, blanks at the ends not counted, of an output that they
    answer so. None where their kind reads no traits that are known here, or where these are too
    many.
    """
    read = _READERS.get(kind)
    return read(checks) if read else None


def _list_php(checks: Sequence[Params]) -> Mapping[Answers, int]:
    without = {"pass": PASSED, "fail": FAILED, "unscored": MISSING}
    dialects = list(dict.fromkeys(check["dialect"] for check in checks))
    ways: dict[Answers, int] = {}
    # What one dialect sees says nothing about the other.
    for seen in product((None, PASSED, FAILED, ERROR), repeat=len(dialects)):
        said = dict(zip(dialects, seen, strict=True))
        ways[tuple(said[check["dialect"]] or without[check["on_no_code"]] for check in checks)] = (
            OUTPUT_LIMIT
        )
    return ways


def _list_formats(checks: Sequence[Params]) -> Mapping[Answers, int]:
    bounds = {0, 1, OUTPUT_LIMIT + 1}
    for check in checks:
        bounds |= {
            check["min_chars"] or 0,
            OUTPUT_LIMIT if check["max_chars"] is None else check["max_chars"] + 1,
        }
    ways: dict[Answers, int] = {}
    for length, next_ in pairwise(sorted(bound for bound in bounds if bound <= OUTPUT_LIMIT + 1)):
        # Blanks are not JSON.
        for as_json in (PASSED, FAILED, ERROR) if length else (FAILED,):
            for expected in ("json", "text", None):
                # Lengths ascend, so the last that counts is the most.
                ways[tuple(_grade_format(check, expected, length, as_json) for check in checks)] = (
                    next_ - 1
                )
    return ways


def _grade_format(
    check: Params, expected: str | None, length: int, as_json: RawAnswer
) -> RawAnswer:
    """Return the answer to an output of so many characters, to a question that expects this format."""
    wanted, least, most = check["format"] or expected, check["min_chars"], check["max_chars"]
    if wanted is least is most is None:
        return MISSING
    if length < (least or 0) or (most is not None and length > most):
        return FAILED
    if wanted == "json":
        return as_json
    return PASSED if length or wanted is None else FAILED


def _list_markdown(checks: Sequence[Params]) -> Mapping[Answers, int] | None:
    demands = [dict.fromkeys(_list_demands(check)) for check in checks]
    users = defaultdict[_Demand, list[int]](list)
    for index, asked in enumerate(demands):
        for demand in asked:
            users[demand].append(index)
    chains = defaultdict[tuple[str, ...], list[_Demand]](list)
    for demand in users:
        # What holds or does not is one trait for all demands of the same checks: they fail where
        # any of these does.
        chains[demand[0] if demand[1] else ("", *map(str, users[demand]))].append(demand)
    traits = [list(_list_held(chain)) for chain in chains.values()]
    parsed = [check["dialect"] == "commonmark" for check in checks]
    if prod(map(len, traits)) > PROOFS.traits:
        return None
    return dict.fromkeys(_grade_traits(demands, parsed, traits), OUTPUT_LIMIT)


def _grade_traits(
    demands: Sequence[Mapping[_Demand, None]],
    parsed: Sequence[bool],
    traits: Sequence[Sequence[frozenset[_Demand]]],
) -> Iterator[Answers]:
    # Of demands that are one trait, nobody knows which of them fails.
    told = {
        demand
        for trait in traits
        for held in trait
        for demand in held
        if demand[1] or len(trait[0]) == 1
    }
    for chosen in product(*traits):
        held = frozenset[_Demand]().union(*chosen)
        failed = told - held
        if _lacks_heading(held, failed) or any(_follows(demand, held) for demand in failed):
            continue
        answers = tuple(PASSED if asked.keys() <= held else FAILED for asked in demands)
        yield answers
        # A text beyond the parser's limits.
        yield tuple(ERROR if one else answer for one, answer in zip(parsed, answers, strict=True))


def _lacks_heading(held: frozenset[_Demand], failed: set[_Demand]) -> bool:
    """Whether a text would have no heading, and one that is too deep, of level 1, or of a section."""
    bare = {dialect for (dialect, name, *_), least in failed if (name, least) == (_HEADINGS, 1)}
    shown = {dialect for (dialect, name, *_), _ in failed if name in {_LEVEL, _NO_H1}}
    shown |= {dialect for (dialect, name, *_), _ in held if name == _SECTION}
    return not bare.isdisjoint(shown)


def _follows(demand: _Demand, held: frozenset[_Demand]) -> bool:
    """Whether a demand holds where these do: a heading with the longer text has the shorter one, too."""
    (dialect, name, *texts), _ = demand
    if name == _NO_H1:
        return ((dialect, _LEVEL), DEEPEST_HEADING) in held
    others = [key[2] for key, _ in held if key[:2] == (dialect, name) and texts]
    # A text without the shorter one lacks the longer one.
    return any(texts[0] in other if name == _SECTION else other in texts[0] for other in others)


def _list_held(chain: Sequence[_Demand]) -> Iterator[frozenset[_Demand]]:
    """Yield the demands that hold together: all or none, or of numbers those up to one of them."""
    if not chain[0][1]:
        yield from (frozenset(chain), frozenset())
        return
    ordered = sorted(chain, key=lambda demand: demand[1])
    yield from (frozenset(ordered[:end]) for end in range(len(ordered) + 1))


def _list_demands(check: Params) -> Iterator[_Demand]:
    dialect = check["dialect"]
    for name in (_HEADINGS, "min_code_blocks", "min_paragraphs"):
        if check[name]:
            yield (dialect, name), check[name]
    if check["max_heading_level"] < DEEPEST_HEADING:
        # The lower the level, the more it asks for.
        yield (dialect, _LEVEL), DEEPEST_HEADING - check["max_heading_level"]
    if check["no_h1"]:
        yield (dialect, _NO_H1), 0
    yield from (((dialect, _SECTION, section.lower()), 0) for section in check["required_sections"])
    yield from ((("", "forbidden", pattern), 0) for pattern in check["forbidden_patterns"])


_READERS: Mapping[str, Callable[[Sequence[Params]], Mapping[Answers, int] | None]] = {
    "format": _list_formats,
    "markdown_structure": _list_markdown,
    "php_lint": _list_php,
}
