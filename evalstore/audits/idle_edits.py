"""Finds the edits that cannot move one question, so that exact shares need the others alone.

An item of a list matters to a question only where it hits: a banned phrase that the answer does not say has no part in
any hybrid. Items that hit alike are interchangeable, so a check is graded once for any number of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from evalstore.audits.attribution import Coalition
from evalstore.audits.check_variants import ItemProbe
from evalstore.audits.question_cells import AlikeItems, Content, QuestionCells
from evalstore.audits.rubric_plan import PlannedCheck, PlannedRubric
from evalstore.model import Combine, Sample, Verdict
from evalstore.patterns.limits import OUTPUT_LIMIT

# The score of a list with one item that does not hit; of all other lists it is 1.
_IDLE_SCORES: Mapping[str, Fraction] = {"must_contain_any": Fraction(0)}
_TRIED_EDITS = 8
MOST_VARIED_EDITS = 3  # of one check, whose variants are all graded


def find_idle_edits(rubric: PlannedRubric, cells: QuestionCells, contexts: Sequence[int]) -> int:
    """Return the edits of a rubric that no cell of this question can tell from not made.

    `contexts` are the mixes of question and answer. Leaves in `cells` which items act alike.
    """
    idle = 0
    for check in rubric.checks:
        if check.inner:
            idle |= find_idle_edits(check.inner, cells, contexts)
        elif check.grading and not check.is_judged:
            idle |= _find_idle_items(check, cells, contexts)
            idle |= _find_idle_variants(check, cells, contexts, check.grading & ~idle)
    if not rubric.path:
        idle |= _find_idle_scoring(rubric, cells, contexts, idle)
    return idle


def prune_tree(node: Coalition, idle: int) -> Coalition | None:
    """Return the tree without idle edits; None where nothing is left."""
    members: list[Coalition | int] = []
    for member in node.members:
        if isinstance(member, Coalition):
            if (pruned := prune_tree(member, idle)) is not None:
                members.append(pruned)
        elif not idle >> member & 1:
            members.append(member)
    return Coalition(tuple(members), node.ordered) if members else None


def _find_idle_items(check: PlannedCheck, cells: QuestionCells, contexts: Sequence[int]) -> int:
    if not check.probes:
        return 0
    if _is_decided_without(check, cells, contexts):
        return sum(1 << probe.bit for probe in check.probes)
    places = dict.fromkeys(place for context in contexts for place in cells.list_contents(context))
    texts = [(place, cells.get_sample(place)) for place in places]
    hits: dict[int, set[tuple[int, Content]]] = {}
    for place, sample in texts:
        for at, number in _list_hits(check.probes, cells, sample):
            hits.setdefault(at, set()).add((number, place))
    idle = 0
    alike: dict[tuple[str, frozenset[tuple[int, Content]]], list[tuple[int, bool]]] = {}
    for at, probe in enumerate(check.probes):
        if at in hits:
            alike.setdefault((probe.key, frozenset(hits[at])), []).append((probe.bit, probe.adds))
        else:
            idle |= 1 << probe.bit
    cells.alike[check.path] = [
        AlikeItems(tuple(bits), frozenset(place for _, place in hits), check.decisive_hits)
        for (_, hits), bits in alike.items()
    ]
    return idle


def _is_decided_without(check: PlannedCheck, cells: QuestionCells, contexts: Sequence[int]) -> bool:
    """Whether a check whose items alone are edited says the same with all of them as with none."""
    if len(check.probes) < len(check.edits):
        return False
    # An item moves a score one way only, whatever others there are, so what both ends give all between them give.
    most = sum(1 << probe.bit for probe in check.probes if probe.adds)
    fewest = sum(1 << probe.bit for probe in check.probes if not probe.adds)
    return all(
        cells.grade_outcomes(check, most | context) == cells.grade_outcomes(check, fewest | context)
        for context in contexts
    )


def _list_hits(probes: Sequence[ItemProbe], cells: QuestionCells, sample: Sample) -> Iterator[tuple[int, int]]:
    """Yield the places of the probes that hit one text, each with the number of its variant that does."""
    is_long = len(sample.text) > OUTPUT_LIMIT
    texts = sample.lowercase_text, sample.text
    for at, probe in enumerate(probes):
        for number, variant in enumerate(probe.variants):
            phrase = probe.phrases[number]
            # Most items are phrases, whose check need not be graded to see whether they are there.
            if phrase is not None and not is_long:
                is_hit = phrase.text in texts[phrase.is_exact]
            else:
                result = cells.graders[0].grade_check(variant.check, variant.content, sample)
                is_hit = result is None or result.score != _IDLE_SCORES.get(variant.check.kind, Fraction(1))
            if is_hit:
                yield at, number


def _find_idle_variants(check: PlannedCheck, cells: QuestionCells, contexts: Sequence[int], held: int) -> int:
    """Return the edits of one check that change its result in none of its variants; of many, items are not tried."""
    bits = [bit for bit in range(held.bit_length()) if held >> bit & 1]
    is_small = len(check.edits) <= MOST_VARIED_EDITS
    tried = [bit for bit, edit in check.edits if held >> bit & 1 and (is_small or edit.part.area != "item")]
    if not tried or len(bits) > _TRIED_EDITS:
        return 0
    states = [
        sum(1 << bit for number, bit in enumerate(bits) if state >> number & 1) for state in range(1 << len(bits))
    ]
    table = {state: [cells.grade_outcomes(check, state | context) for context in contexts] for state in states}
    return sum(1 << bit for bit in tried if all(table[state] == table[state ^ 1 << bit] for state in states))


def _find_idle_scoring(rubric: PlannedRubric, cells: QuestionCells, contexts: Sequence[int], idle: int) -> int:
    """Return weights that weigh equal scores, and gates that no variant of their check closes."""
    edits = [(bit, edit) for bit, edit in enumerate(rubric.owner.edits, rubric.first)]
    asked = [(bit, edit) for bit, edit in edits if edit.part.area in {"weight", "required"}]
    if not asked or len(edits) == 1:
        return 0
    outcomes = {check.name: _list_outcomes(check, cells, contexts, idle) for check in rubric.checks}
    scores = {score for found in outcomes.values() for score, _ in found}
    weighs = any(rubric.build_scoring(mask).combine is Combine.WEIGHTED_AVG for mask in (0, rubric.scoring_bits))
    positive = all(
        weight > 0 for mask in (0, rubric.scoring_bits) for weight in rubric.build_scoring(mask).weights.values()
    )
    found = 0
    for bit, edit in asked:
        verdicts = {verdict for _, verdict in outcomes.get(edit.part.name, ())}
        if edit.part.area == "required" and verdicts == {Verdict.PASS}:
            found |= 1 << bit
        if edit.part.area == "weight" and (not weighs or (len(scores) == 1 and None not in scores and positive)):
            found |= 1 << bit
    return found


def _list_outcomes(
    check: PlannedCheck, cells: QuestionCells, contexts: Sequence[int], idle: int
) -> set[tuple[object, ...]]:
    """Return the scores and verdicts that a check can have; a judged or large one may have any."""
    bits = [bit for bit in range(check.grading.bit_length()) if check.grading >> bit & 1 and not idle >> bit & 1]
    if check.is_judged or check.inner or len(bits) > _TRIED_EDITS:
        return {(None, Verdict.UNSCORED), (Fraction(0), Verdict.FAIL)}
    found: set[tuple[object, ...]] = set()
    for state in range(1 << len(bits)):
        mask = sum(1 << bit for number, bit in enumerate(bits) if state >> number & 1)
        if check.build_variant(mask) is not None:
            found |= {
                one[:2] or (None, Verdict.UNSCORED)
                for context in contexts
                for one in cells.grade_outcomes(check, mask | context)
            }
    return found
