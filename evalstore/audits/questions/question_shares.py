"""Shares out one question's change: by factor, and by edit.

Edits are separated as far as judges' replies allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from evalstore.audits.attribution import Block, Coalition, attribute_change, find_edits
from evalstore.audits.edits.rubric_plan import PlannedCheck, PlannedRubric
from evalstore.audits.questions.question_cells import AlikeItems, Content, MixedGrades
from evalstore.audits.shapley import Estimate, list_bits, list_unions
from evalstore.audits.values import OWN_FACTORS, EditSource, FactorName
from evalstore.audits.version_path import join_sources
from evalstore.model import Combine, Verdict
from evalstore.runs.question_mean import QuestionMean

# The score of a list with one item that does not hit; for all other lists it is 1.
_TRIED_EDITS = 8
MOST_VARIED_EDITS = 3  # of one check, whose variants are all graded
Channels = tuple[Fraction, Fraction]  # of the score, and of the verdict (1 is pass)
Trees = Mapping[FactorName, Coalition]
FactorNames = tuple[FactorName, ...]
_MERGED = frozenset({FactorName.RUBRIC, FactorName.JUDGE})


def find_idle_edits(rubric: PlannedRubric, cells: MixedGrades, contexts: Sequence[int]) -> int:
    """Return the edits of a rubric that no cell of this question can tell from not made.

    `contexts` are the mixes of question and answer. It leaves in `cells` which items act alike.
    """
    idle = 0
    for check in rubric.checks:
        if check.inner:
            idle |= find_idle_edits(check.inner, cells, contexts)
        elif check.grading and not check.is_judged:
            idle |= _group_items(check, cells, contexts)
            idle |= _find_idle_variants(check, cells, contexts, check.grading & ~idle)
    if not rubric.path:
        idle |= _find_idle_scoring(rubric, cells, contexts, idle)
    return idle


def prune_tree(node: Coalition, idle: int) -> Coalition | None:
    """Return the tree without idle edits; None if nothing is left."""
    members: list[Coalition | int] = []
    for member in node.members:
        if isinstance(member, Coalition):
            if (pruned := prune_tree(member, idle)) is not None:
                members.append(pruned)
        elif not idle >> member & 1:
            members.append(member)
    return Coalition(tuple(members), node.ordered) if members else None


def _group_items(check: PlannedCheck, cells: MixedGrades, contexts: Sequence[int]) -> int:
    if not check.probes:
        return 0
    if _grades_alike_without(check, cells, contexts):
        return sum(1 << probe.bit for probe in check.probes)
    places = dict.fromkeys(place for context in contexts for place in cells.list_contents(context))
    hits: dict[int, set[tuple[int, Content]]] = {}
    for place in places:
        for at, number in cells.grade_hits(check, place):
            hits.setdefault(at, set()).add((number, place))
    idle = 0
    alike: dict[tuple[str, frozenset[tuple[int, Content]]], list[tuple[int, bool]]] = {}
    for at, probe in enumerate(check.probes):
        if at in hits:
            alike.setdefault((probe.key, frozenset(hits[at])), []).append((probe.bit, probe.adds))
        else:
            idle |= 1 << probe.bit
    groups = [(tuple(bits), frozenset(at for _, at in hit)) for (_, hit), bits in alike.items()]
    cells.alike[check.path] = [AlikeItems(*group, check.decisive_hits) for group in groups]
    return idle


def _grades_alike_without(check: PlannedCheck, cells: MixedGrades, contexts: Sequence[int]) -> bool:
    """Whether a check with only its items edited grades the same with all edits as with none."""
    if len(check.probes) < len(check.edits):
        return False
    # An item moves a score in one direction only, whatever the other items, so what both ends give,
    # everything in between gives.
    most = sum(1 << probe.bit for probe in check.probes if probe.adds)
    fewest = sum(1 << probe.bit for probe in check.probes if not probe.adds)
    grade = partial(cells.grade_outcomes, check)
    return all(grade(most | context) == grade(fewest | context) for context in contexts)


def _find_idle_variants(
    check: PlannedCheck, cells: MixedGrades, contexts: Sequence[int], held: int
) -> int:
    """Return the edits of one check that change its result in none of its variants.

    If there are many variants, items are not tried.
    """
    bits = list_bits(held)
    is_small = len(check.edits) <= MOST_VARIED_EDITS
    varied = [bit for bit, edit in check.edits if is_small or edit.part.area != "item"]
    tried = [bit for bit in varied if held >> bit & 1]
    if not tried or len(bits) > _TRIED_EDITS:
        return 0
    states = list_unions(1 << bit for bit in bits)
    grade = partial(cells.grade_outcomes, check)
    table = {state: [grade(state | context) for context in contexts] for state in states}

    def is_idle(bit: int) -> bool:
        return all(table[state] == table[state ^ 1 << bit] for state in states)

    return sum(1 << bit for bit in tried if is_idle(bit))


def _find_idle_scoring(
    rubric: PlannedRubric, cells: MixedGrades, contexts: Sequence[int], idle: int
) -> int:
    """Return the edits of scoring that change nothing.

    They are weights that weigh equal scores, and required checks that no variant of their check
    fails.
    """
    edits = [(bit, edit) for bit, edit in enumerate(rubric.owner.edits, rubric.first)]
    asked = [(bit, edit) for bit, edit in edits if edit.part.area in {"weight", "required"}]
    if not asked or len(edits) == 1:
        return 0
    outcomes = {check.name: _list_outcomes(check, cells, contexts, idle) for check in rubric.checks}
    scores = {score for found in outcomes.values() for score, _ in found}
    scorings = [rubric.build_scoring(mask) for mask in (0, rubric.scoring_bits)]
    weighs = any(one.combine is Combine.WEIGHTED_AVG for one in scorings)
    positive = all(weight > 0 for one in scorings for weight in one.weights.values())
    found = 0
    for bit, edit in asked:
        verdicts = {verdict for _, verdict in outcomes.get(edit.part.name, ())}
        if edit.part.area == "required" and verdicts == {Verdict.PASS}:
            found |= 1 << bit
        if edit.part.area == "weight" and (
            not weighs or (len(scores) == 1 and None not in scores and positive)
        ):
            found |= 1 << bit
    return found


def _list_outcomes(
    check: PlannedCheck, cells: MixedGrades, contexts: Sequence[int], idle: int
) -> set[tuple[object, ...]]:
    """Return the scores and verdicts that a check can have; a judged or large one may have any."""
    bits = list_bits(check.grading & ~idle)
    if check.is_judged or check.inner or len(bits) > _TRIED_EDITS:
        return {(None, Verdict.UNSCORED), (Fraction(0), Verdict.FAIL)}
    found: set[tuple[object, ...]] = set()
    for mask in list_unions(1 << bit for bit in bits):
        if check.build_variant(mask) is not None:
            graded = [cells.grade_outcomes(check, mask | context) for context in contexts]
            found |= {one[:2] or (None, Verdict.UNSCORED) for each in graded for one in each}
    return found


@dataclass(frozen=True, slots=True)
class BlockShare:
    """What one block of factors did to a question.

    `first` and `last` are its effects when it enters first or last.
    """

    share: Channels
    first: Fraction
    last: Fraction
    edits: tuple[tuple[EditSource, Estimate, Estimate], ...]


@dataclass(frozen=True, slots=True)
class QuestionShares:
    """The two ends of a question as graded, and the blocks of factors between them.

    `own_old` and `own_new` are the outputs' own share under either rubric.
    """

    old: Channels
    new: Channels
    blocks: Mapping[FactorNames, BlockShare]
    own_old: Fraction | None
    own_new: Fraction | None

    @property
    def own(self) -> Channels:
        """What outputs and inputs did to the score, and to the passes."""
        own = [one.share for names, one in self.blocks.items() if not OWN_FACTORS.isdisjoint(names)]
        zero = Fraction(0)
        return sum((score for score, _ in own), zero), sum((passes for _, passes in own), zero)


@dataclass(slots=True)
class _WidenedCells:
    """The cells of a question, with some bits standing for several.

    `lacks_replies` says whether any cell was missing a reply.
    """

    cells: MixedGrades
    widths: Mapping[int, int]
    lacks_replies: bool = False

    def grade_score(self, mask: int) -> Fraction | None:
        return self._grade_mix(mask).score

    def grade_passes(self, mask: int) -> Fraction | None:
        return self._grade_mix(mask).pass_share

    def _grade_mix(self, mask: int) -> QuestionMean:
        for bit, width in self.widths.items():
            mask |= width if mask >> bit & 1 else 0
        found = self.cells.grade_mix(mask)
        self.lacks_replies |= found.score is None and self.cells.is_unasked(mask)
        return found


def share_question(
    trees: Trees,
    blocks: Sequence[Block],
    cells: MixedGrades,
    find_source: Callable[[FactorName, int], EditSource],
) -> QuestionShares:
    """Return the shares of one question, whose factors move in `blocks`."""
    names, alike = tuple(trees), cells.list_alike()
    # If a mix of edits was never judged, the edits of each judge are merged, or else those of each
    # factor.
    for merged, widths in _list_merges(trees):
        widened, trees_in_order = _WidenedCells(cells, widths), tuple(merged.values())
        score = attribute_change(trees_in_order, blocks, widened.grade_score, alike)
        passes = attribute_change(trees_in_order, blocks, widened.grade_passes, alike)
        if not widened.lacks_replies:
            break

    def join_width(name: FactorName, bit: int) -> EditSource:
        width = list_bits(widths.get(bit, 1 << bit))
        return join_sources([find_source(name, one) for one in width])

    def build_block(block: Block) -> BlockShare:
        share = score.shares[block], passes.shares[block]
        members = [names[number] for number in block]
        bits = [(name, bit) for name in members for bit in list_bits(merged[name].edits)]
        sources = [join_width(name, bit) for name, bit in bits]
        found = zip(sources, (bit for _, bit in bits), strict=True)
        shared = [(source, bit) for source, bit in found if bit in score.edits]
        edits = [(source, score.edits[bit], passes.edits[bit]) for source, bit in shared]
        if len(block) > 1:
            edits = [(join_sources(sources), Estimate(share[0]), Estimate(share[1]))]
        return BlockShare(share, score.first[block], score.last[block], tuple(edits))

    whole = sum(tree.edits for tree in trees.values())
    own = sum(tree.edits for name, tree in trees.items() if name in OWN_FACTORS)
    return QuestionShares(
        old=(score.old, passes.old),
        new=(score.new, passes.new),
        blocks={tuple(names[number] for number in block): build_block(block) for block in blocks},
        own_old=_subtract(cells.grade_score(own), score.old),
        own_new=_subtract(score.new, cells.grade_score(whole & ~own)),
    )


def grade_mixes(trees: Trees, cells: MixedGrades) -> None:
    """Grade every mix of whole factors, so that all calls that they lack are noted."""
    for mask in list_unions(tree.edits for tree in trees.values()):
        cells.grade_score(mask)


def grade_steps(trees: Trees, cells: MixedGrades) -> None:
    """Grade the steps of judges in every mix of the other factors, to note the calls they lack."""
    judge = trees.get(FactorName.JUDGE)
    chains = [one for one in judge.members if isinstance(one, Coalition)] if judge else []
    mixes = list_unions(tree.edits for name, tree in trees.items() if name is not FactorName.JUDGE)
    for chain in chains:
        bits = list_bits(chain.edits)
        for length in range(1, len(bits)):
            for mix in mixes:
                cells.grade_score(sum(1 << bit for bit in bits[:length]) | mix)


def _list_merges(trees: Trees) -> Iterator[tuple[Trees, Mapping[int, int]]]:
    """Yield the trees as they are, then with edits merged.

    First each judge's versions become one edit, then rubric and judge become one edit each. A
    merged edit keeps its last bit, which stands for all bits of its width.
    """
    yield trees, {}
    judge = trees.get(FactorName.JUDGE)
    if judge and any(isinstance(one, Coalition) for one in judge.members):
        members = [list_bits(find_edits(one)) for one in judge.members]
        merged = Coalition(tuple(bits[-1] for bits in members))
        yield (
            {**trees, FactorName.JUDGE: merged},
            {bits[-1]: sum(1 << bit for bit in bits) for bits in members},
        )
    edits = {name: tree.edits for name, tree in trees.items() if name in _MERGED}
    single = {name: Coalition((mask.bit_length() - 1,)) for name, mask in edits.items()}
    # In the order of the factors, which number the blocks.
    yield (
        {name: single.get(name, tree) for name, tree in trees.items()},
        {mask.bit_length() - 1: mask for mask in edits.values()},
    )


def _subtract(new: Fraction | None, old: Fraction | None) -> Fraction | None:
    return None if new is None or old is None else new - old
