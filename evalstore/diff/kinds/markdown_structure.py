"""markdown_structure: demands on headings, code blocks and paragraphs, in a dialect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from math import prod

from evalstore.diff.answers.raw_answers import ERROR, FAILED, PASSED, JointRawAnswers
from evalstore.diff.kinds import (
    ComparedKind,
    Param,
    Params,
    at_least,
    at_most,
    read_count,
    read_no_question,
    read_one_of,
    read_switch,
    read_texts,
    say_always,
    say_never,
)
from evalstore.diff.limits import CANDIDATES, PROOFS
from evalstore.languages.patterns import OUTPUT_LIMIT

# Markdown has six levels.
DEEPEST_HEADING = 6
_HEADINGS, _LEVEL, _NO_H1, _SECTION = "min_headings", "max_heading_level", "no_h1", "section"
# What a check asks for: the dialect, the name and perhaps a text; and the number wanted, which is 0
# for a demand that has no number.
_Demand = tuple[tuple[str, ...], int]
_DEMAND, _BOUND = "markdown-requirement-changed", "markdown-bound-changed"


def _yield_texts(params: Params) -> Iterator[str]:
    most = CANDIDATES.repeated
    headings = ["## a"] * min(params["min_headings"], most)
    paragraphs = ["a"] * min(params["min_paragraphs"], most)
    blocks = ["```\na\n```"] * min(params["min_code_blocks"], most)
    sections = [f"## {section}" for section in params["required_sections"]]
    whole = [*headings, *sections, *blocks, *paragraphs]
    yield "\n\n".join(whole)
    yield "\n\n".join(["# a", *whole])
    # One heading may contain the names of all sections.
    yield "\n\n".join([f"## {' '.join(params['required_sections'])}", *blocks, *paragraphs])
    # A heading inside code, and an underlined one, are headings in one dialect only.
    yield "\n".join(["```", *headings, *sections, "```", *blocks, *paragraphs])
    underlined = [f"{heading[3:]}\n---" for heading in (*headings, *sections)]
    yield "\n\n".join([*underlined, *blocks, *paragraphs])
    for index in range(min(len(whole), most)):
        yield "\n\n".join(whole[:index] + whole[index + 1 :])
    deeper = f"{'#' * min(params['max_heading_level'] + 1, DEEPEST_HEADING)} a"
    for more in (deeper, *params["forbidden_patterns"]):
        yield more
        yield "\n\n".join([*whole, more])


def _asks_nothing(params: Params) -> bool:
    names = (
        "min_headings",
        "no_h1",
        "required_sections",
        "forbidden_patterns",
        "min_code_blocks",
        "min_paragraphs",
    )
    return (
        not any(params[name] for name in names) and params["max_heading_level"] >= DEEPEST_HEADING
    )


def _list_joint_answers(checks: Sequence[Params]) -> Mapping[JointRawAnswers, int] | None:
    demands = [dict.fromkeys(_list_demands(check)) for check in checks]
    users = defaultdict[_Demand, list[int]](list)
    for index, asked in enumerate(demands):
        for demand in asked:
            users[demand].append(index)
    chains = defaultdict[tuple[str, ...], list[_Demand]](list)
    for demand in users:
        # Demands without a number that the same checks make are one trait together: each of these
        # checks fails if any of the demands does.
        chains[demand[0] if demand[1] else ("", *map(str, users[demand]))].append(demand)
    traits = [list(_list_met(chain)) for chain in chains.values()]
    parsed = [check["dialect"] == "commonmark" for check in checks]
    if prod(map(len, traits)) > PROOFS.traits:
        return None
    return dict.fromkeys(_grade_traits(demands, parsed, traits), OUTPUT_LIMIT)


def _select_known(trait: Sequence[frozenset[_Demand]]) -> Iterator[_Demand]:
    for demand in chain.from_iterable(trait):
        if demand[1] or len(trait[0]) == 1:
            yield demand


def _grade_traits(
    demands: Sequence[Mapping[_Demand, None]],
    parsed: Sequence[bool],
    traits: Sequence[Sequence[frozenset[_Demand]]],
) -> Iterator[JointRawAnswers]:
    nothing: frozenset[_Demand] = frozenset()
    # If several demands are one trait, it is not known which of them fails.
    known = nothing.union(*(_select_known(trait) for trait in traits))
    for chosen in product(*traits):
        met = nothing.union(*chosen)
        failed = known - met
        if _lacks_heading(met, failed) or any(_follows(demand, met) for demand in failed):
            continue
        answers = tuple(PASSED if asked.keys() <= met else FAILED for asked in demands)
        yield answers
        # A text beyond the parser's limits.
        yield tuple(ERROR if one else answer for one, answer in zip(parsed, answers, strict=True))


def _lacks_heading(met: frozenset[_Demand], failed: frozenset[_Demand]) -> bool:
    """Whether a text would have no heading, and yet a heading that is demanded or forbidden."""
    bare = {dialect for (dialect, name, *_), least in failed if (name, least) == (_HEADINGS, 1)}
    shown = {dialect for (dialect, name, *_), _ in failed if name in {_LEVEL, _NO_H1}}
    shown |= {dialect for (dialect, name, *_), _ in met if name == _SECTION}
    return not bare.isdisjoint(shown)


def _follows(demand: _Demand, met: frozenset[_Demand]) -> bool:
    """Whether a text that meets some demands meets this one, too."""
    (dialect, name, *texts), _ = demand
    if name == _NO_H1:
        return ((dialect, _LEVEL), DEEPEST_HEADING) in met
    others = [key[2] for key, _ in met if key[:2] == (dialect, name) and texts]
    # A heading with a longer section name contains a shorter one inside it. A text without a
    # forbidden text has no longer text that contains it.
    return any(texts[0] in other if name == _SECTION else other in texts[0] for other in others)


def _list_met(chain: Sequence[_Demand]) -> Iterator[frozenset[_Demand]]:
    """Yield which demands can be met together: all or none; of numbers, all up to one of them."""
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
        # A lower level asks for more.
        yield (dialect, _LEVEL), DEEPEST_HEADING - check["max_heading_level"]
    if check["no_h1"]:
        yield (dialect, _NO_H1), 0
    yield from (((dialect, _SECTION, section.lower()), 0) for section in check["required_sections"])
    yield from ((("", "forbidden", pattern), 0) for pattern in check["forbidden_patterns"])


KIND = ComparedKind(
    params={
        "dialect": Param(
            "commonmark", read_one_of("commonmark", "lines"), rule="check-engine-changed"
        ),
        # A required section is a heading, too, so it implies one.
        "min_headings": Param(
            0,
            read_count,
            rule=_BOUND,
            limit=at_least("min_headings", implied_by="required_sections"),
        ),
        "max_heading_level": Param(
            DEEPEST_HEADING,
            read_count,
            rule=_BOUND,
            limit=at_most("max_heading_level", highest=DEEPEST_HEADING),
        ),
        "no_h1": Param(False, read_switch, rule=_DEMAND),
        "required_sections": Param([], read_texts, items=(_DEMAND, _DEMAND), is_set=True),
        "forbidden_patterns": Param([], read_texts, items=(_DEMAND, _DEMAND), is_set=True),
        "min_code_blocks": Param(0, read_count, rule=_BOUND, limit=at_least("min_code_blocks")),
        "min_paragraphs": Param(0, read_count, rule=_BOUND, limit=at_least("min_paragraphs")),
    },
    is_binary=say_always,
    may_miss=say_never,
    may_err=lambda params: params["dialect"] == "commonmark",  # a text beyond the parser's limits
    question_parts=read_no_question,
    sample_texts=_yield_texts,
    joint_answers=_list_joint_answers,
    assembly_order=-1,
    passes_all=_asks_nothing,
    cost=150,
)
