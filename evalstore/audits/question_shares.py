"""Shares one question's change out: by player, and by edit as far as replies of judges let edits be told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from evalstore.audits.attribution import Block, Coalition, attribute_change
from evalstore.audits.question_cells import CellScore, QuestionCells
from evalstore.audits.shapley import Estimate, join_masks
from evalstore.audits.values import EditSource, Origin, PlayerName

OWN_PLAYERS = frozenset({PlayerName.INPUT, PlayerName.OUTPUTS})
Channels = tuple[Fraction, Fraction]  # of the score, and of the verdict (1 is pass)
Trees = Mapping[PlayerName, Coalition]
Players = tuple[PlayerName, ...]
_MERGED = frozenset({PlayerName.RUBRIC, PlayerName.JUDGE})


@dataclass(frozen=True, slots=True)
class BlockShare:
    """What one block of players did to a question; `first` and `last` are its effects when it enters first or last."""

    share: Channels
    first: Fraction
    last: Fraction
    edits: tuple[tuple[EditSource, Estimate, Estimate], ...]


@dataclass(frozen=True, slots=True)
class QuestionShares:
    """The two ends of a question as graded, the blocks of players between them, and the own share by both rulers."""

    old: Channels
    new: Channels
    blocks: Mapping[Players, BlockShare]
    own_old: Fraction | None
    own_new: Fraction | None


@dataclass(slots=True)
class _WidenedCells:
    """The cells of a question in which some bits stand for several; `lacks_replies` says whether one was unasked."""

    cells: QuestionCells
    widths: Mapping[int, int]
    lacks_replies: bool = False

    def find_score(self, mask: int) -> Fraction | None:
        found = self._find_cell(mask)
        return found and found.score

    def find_passes(self, mask: int) -> Fraction | None:
        found = self._find_cell(mask)
        return found and found.passes

    def _find_cell(self, mask: int) -> CellScore | None:
        for bit, width in self.widths.items():
            mask |= width if mask >> bit & 1 else 0
        found = self.cells.find_cell(mask)
        self.lacks_replies |= found is None and self.cells.is_unasked(mask)
        return found


def share_question(
    trees: Trees, blocks: Sequence[Block], cells: QuestionCells, find_source: Callable[[PlayerName, int], EditSource]
) -> QuestionShares:
    """Return the shares of one question, whose players move in `blocks`."""
    names, alike = tuple(trees), cells.list_alike()
    # Where a mix of edits was never judged, the edits of each judge are one, else those of each player.
    for merged, widths in _list_merges(trees):
        widened, players = _WidenedCells(cells, widths), tuple(merged.values())
        score = attribute_change(players, blocks, widened.find_score, alike)
        passes = attribute_change(players, blocks, widened.find_passes, alike)
        if not widened.lacks_replies:
            break

    def build_block(block: Block) -> BlockShare:
        share = score.shares[block], passes.shares[block]
        bits = [(names[number], bit) for number in block for bit in list_bits(merged[names[number]].edits)]
        sources = [
            join_sources([find_source(name, one) for one in list_bits(widths.get(bit, 1 << bit))]) for name, bit in bits
        ]
        edits = [
            (source, score.edits[bit], passes.edits[bit])
            for source, (_, bit) in zip(sources, bits, strict=True)
            if bit in score.edits
        ]
        if len(block) > 1:
            edits = [(join_sources(sources), Estimate(share[0]), Estimate(share[1]))]
        return BlockShare(share, score.first[block], score.last[block], tuple(edits))

    whole = sum(tree.edits for tree in trees.values())
    own = sum(tree.edits for name, tree in trees.items() if name in OWN_PLAYERS)
    return QuestionShares(
        old=(score.old, passes.old),
        new=(score.new, passes.new),
        blocks={tuple(names[number] for number in block): build_block(block) for block in blocks},
        own_old=_subtract(cells.find_score(own), score.old),
        own_new=_subtract(score.new, cells.find_score(whole & ~own)),
    )


def grade_mixes(trees: Trees, cells: QuestionCells) -> None:
    """Grade every mix of whole players, so that all calls that they lack are noted."""
    masks = [tree.edits for tree in trees.values()]
    for held in range(1 << len(masks)):
        cells.find_score(join_masks(masks, held))


def grade_steps(trees: Trees, cells: QuestionCells) -> None:
    """Grade the steps of judges in every mix of the other players, so that the calls that they lack are noted."""
    judge = trees.get(PlayerName.JUDGE)
    chains = [one for one in judge.members if isinstance(one, Coalition)] if judge else []
    others = [tree.edits for name, tree in trees.items() if name is not PlayerName.JUDGE]
    for chain in chains:
        bits = list_bits(chain.edits)
        for length in range(1, len(bits)):
            for held in range(1 << len(others)):
                cells.find_score(sum(1 << bit for bit in bits[:length]) | join_masks(others, held))


def join_sources(sources: Sequence[EditSource]) -> EditSource:
    """Return one source for edits that cannot be told apart: what they have in common, and all their messages."""
    if len(sources) == 1:
        return sources[0]
    named = [source.origin for source in sources if source.origin.ref] or [sources[0].origin]
    first, last = named[0], named[-1]
    ref = " + ".join(dict.fromkeys(str(one.ref) for one in named)) if len(named) > 1 else first.ref
    origin = Origin(ref, *((first.old, last.new) if ref == first.ref else ("A", "B")))
    if len({(one.commit, one.author) for one in named}) == 1:
        # One commit: of one artifact, the last to say so names its version, and not what it pins.
        origin = replace(last, ref=ref, old=last.old if last.commit and ref == last.ref else origin.old, new=origin.new)
    rules = tuple(dict.fromkeys(rule for source in sources for rule in source.rules))
    message = "; ".join(dict.fromkeys(source.message or source.part for source in sources))
    return EditSource(rules[0] if rules else None, origin, "", rules, message)


def list_bits(mask: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def _list_merges(trees: Trees) -> Iterator[tuple[Trees, Mapping[int, int]]]:
    """Yield the trees as they are, with each judge's versions as one edit, and with rubric and judge as one edit each.

    A merged edit keeps its last bit, which stands for all bits of its width.
    """
    yield trees, {}
    judge = trees.get(PlayerName.JUDGE)
    if judge and any(isinstance(one, Coalition) for one in judge.members):
        members = [list_bits(one.edits if isinstance(one, Coalition) else 1 << one) for one in judge.members]
        merged = Coalition(tuple(bits[-1] for bits in members))
        yield {**trees, PlayerName.JUDGE: merged}, {bits[-1]: sum(1 << bit for bit in bits) for bits in members}
    edits = {name: tree.edits for name, tree in trees.items() if name in _MERGED}
    single = {name: Coalition((mask.bit_length() - 1,)) for name, mask in edits.items()}
    # In the order of the players, which the blocks number.
    yield (
        {name: single.get(name, tree) for name, tree in trees.items()},
        {mask.bit_length() - 1: mask for mask in edits.values()},
    )


def _subtract(new: Fraction | None, old: Fraction | None) -> Fraction | None:
    return None if new is None or old is None else new - old
