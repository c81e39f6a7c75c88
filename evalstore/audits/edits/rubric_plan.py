"""Plans the audit of one pair of rubrics.

Every edit has a bit, and any set of bits is a hybrid that can be graded. A cell of the audit is an
integer: what its set bits stand for has the value of run B, the rest that of run A. The lowest bits
are the judge service, the dataset, the input and the outputs; then come the edits of the rubric,
those inside its composites, and the released versions between two pins of a judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from evalstore.audits.attribution import Coalition
from evalstore.audits.check_matching import EncodedCheck
from evalstore.audits.edits.check_pins import insert_check_pins, list_slots
from evalstore.audits.edits.edit_history import EditHistory, trace_edits, trace_repin
from evalstore.audits.edits.item_probe import ItemProbe, build_probe
from evalstore.audits.edits.judge_history import trace_judge
from evalstore.audits.edits.rubric_edits import Edit, RubricEdits
from evalstore.audits.shapley import list_unions
from evalstore.audits.stored_run import RunArtifactLoader, RunRubric
from evalstore.audits.values import EditSource, FactorName, Origin
from evalstore.audits.version_path import (
    ArtifactVersion,
    VersionFinder,
    VersionPath,
    join_sources,
    name_releases,
)
from evalstore.checks import combine_results
from evalstore.checks.evaluate import is_never_scored
from evalstore.model import (
    Artifact,
    Check,
    CheckResult,
    Rubric,
    Scoring,
    UnscoredReason,
    Verdict,
    find_check_pins,
    parse_ref,
    read_rubric,
)

# The name of a check after those of the composites that contain it.
CheckPath = tuple[str, ...]
SERVICE, DATASET, INPUT, OUTPUTS = range(4)
# An answer to another question does not answer this one: both must come from the same run.
ANSWERS = 1 << INPUT | 1 << OUTPUTS
_KEPT_SCORES = 1 << 14
_SCORING_AREAS = frozenset({"scoring", "weight", "required", "check"})


@dataclass(frozen=True, slots=True)
class RunReferences:
    """What the checks of one run referred to.

    `model` is what it named for judges that name none.
    """

    loader: RunArtifactLoader
    model: Mapping[str, Any]

    def locate(self, ref: str) -> ArtifactVersion:
        """Return the version that a reference meant in the run, else the one that it means now."""
        return self.loader.locate(ref) or ArtifactVersion(
            self.loader.finder.store.resolve(ref), None
        )


@dataclass(slots=True)
class ContentLoader:
    """Loads artifacts by tokens (`judge/<id>@<digest>`).

    A token is more precise than a reference: it means exactly that content.
    """

    fallback: RunArtifactLoader
    artifacts: dict[str, Artifact] = field(default_factory=dict)

    def __call__(self, ref: str) -> Artifact:
        """Return the artifact of a token, else the one that the reference means."""
        return self.artifacts[ref] if ref in self.artifacts else self.fallback(ref)

    def make_token(self, version: ArtifactVersion) -> str:
        """Return the token of a version."""
        token = f"{version.resolved.name}@{version.resolved.digest}"
        self.artifacts[token] = version.resolved.artifact
        return token


@dataclass(frozen=True, slots=True)
class Slot:
    """One reference of a check: its token by how many of its `bits` are set."""

    tokens: tuple[str, ...]
    bits: tuple[int, ...] = ()

    def choose_token(self, mask: int) -> str:
        """Return the token in one cell."""
        return self.tokens[sum(mask >> bit & 1 for bit in self.bits)]


@dataclass
class PlannedCheck:
    """One check of all hybrids.

    `grading` are the bits of its own edits, `relevant` all bits that its grade depends on. `path`
    is its name after those of the composites that contain it. `inner` is the rubric of a composite
    that has edits inside; `is_judged` says whether judges are involved, and `asks_alike` whether
    both runs asked for models of the same names.
    """

    path: CheckPath
    owner: RubricEdits
    first: int
    slots: Mapping[str, Slot]
    grading: int
    relevant: int
    is_judged: bool
    asks_alike: bool
    inner: PlannedRubric | None = None
    _variants: dict[int, EncodedCheck | None] = field(default_factory=dict)

    @cached_property
    def name(self) -> str:
        """The name of the check in its rubric."""
        return self.path[-1]

    @cached_property
    def edits(self) -> tuple[tuple[int, Edit], ...]:
        """The edits that change how it grades, each with its bit."""
        numbers = self.owner.list_grading_edits(self.name)
        return tuple((self.first + number, self.owner.edits[number]) for number in numbers)

    @cached_property
    def is_optional(self) -> bool:
        """Whether some cells lack it."""
        return any(edit.part.area == "check" for _, edit in self.edits)

    @cached_property
    def asks_equally(self) -> bool:
        """Whether its judges get equal prompts for equal outputs in both runs.

        For a composite, this holds for all judges inside.
        """
        if self.inner is not None:
            return all(check.asks_equally for check in self.inner.checks if check.is_judged)
        old, new = self.build_variant(0), self.build_variant(self.relevant)
        return old is not None and new is not None and old.content == new.content

    @cached_property
    def probes(self) -> tuple[ItemProbe, ...]:
        """The items that edits add or remove."""
        bases = self._list_bases()
        return tuple(
            build_probe(bit, edit, bases) for bit, edit in self.edits if edit.part.area == "item"
        )

    @cached_property
    def decisive_hits(self) -> int:
        """How many of its matching items decide its result.

        Further matches change nothing in any variant.
        """
        return max(
            (int(variant.params.get("min_matches", 1)) for variant in self._list_bases()), default=1
        )

    def _list_bases(self) -> list[Check]:
        """Return the check with each setting of its own parameters, whatever its items."""
        params = [1 << bit for bit, edit in self.edits if edit.part.area == "param"][:8]
        variants = map(self.build_variant, list_unions(params))
        return [variant.check for variant in variants if variant is not None]

    def build_variant(self, mask: int) -> EncodedCheck | None:
        """Return the check in one cell; None if it is absent."""
        key = mask & self.relevant
        if key not in self._variants:
            check = self.owner.build_check(self.name, key >> self.first & self.owner.all_edits)
            self._variants[key] = None if check is None else self._pin(check, key)
        return self._variants[key]

    def _pin(self, check: Check, mask: int) -> EncodedCheck:
        pinned = insert_check_pins(
            check, {name: slot.choose_token(mask) for name, slot in self.slots.items()}
        )
        return EncodedCheck.from_check(pinned)


@dataclass
class PlannedRubric:
    """All hybrids of one rubric, or of one within the composites of a path.

    It has the checks, and how they combine in each cell.
    """

    owner: RubricEdits
    first: int
    checks: list[PlannedCheck]
    scoring_bits: int
    path: CheckPath = ()
    _scorings: dict[int, Scoring] = field(default_factory=dict)
    _scores: dict[tuple[object, ...], tuple[Fraction | None, Verdict]] = field(default_factory=dict)

    @cached_property
    def is_judged(self) -> bool:
        """Whether judges are involved."""
        return any(check.is_judged for check in self.checks)

    def build_scoring(self, mask: int) -> Scoring:
        """Return how a cell combines its checks."""
        key = mask & self.scoring_bits
        if key not in self._scorings:
            self._scorings[key] = self.owner.build_scoring(key >> self.first & self.owner.all_edits)
        return self._scorings[key]

    def combine_cell(
        self, mask: int, results: Sequence[CheckResult]
    ) -> tuple[Fraction | None, Verdict]:
        """Return the score and verdict of a cell."""
        # Most questions of a dataset give equal outcomes, so each score is computed once for all of
        # them.
        key = mask & self.scoring_bits, *map(_read_outcome, results)
        if key not in self._scores:
            if len(self._scores) >= _KEPT_SCORES:
                self._scores.clear()
            found = combine_results(self.build_scoring(mask), results)
            self._scores[key] = found.score, found.verdict
        return self._scores[key]


def _read_outcome(result: CheckResult) -> tuple[object, ...]:
    """Return what a score depends on, as plain values.

    Hashing fractions and enums takes long.
    """
    if result.score is None:
        return result.id, result.unscored is UnscoredReason.ERROR, is_never_scored(result)
    return result.id, result.score.as_integer_ratio(), result.verdict is Verdict.PASS


@dataclass(frozen=True)
class RubricPlan:
    """The plan of one pair of rubrics; `sources` are by bit.

    `silent` are findings that can move nothing, and, if edits have shares of their own, the edits
    themselves: those that move no question are reported as well.
    """

    rubric: PlannedRubric
    trees: Mapping[FactorName, Coalition]
    sources: Mapping[int, EditSource]
    silent: tuple[EditSource, ...]
    floats: bool

    @cached_property
    def is_plain(self) -> bool:
        """Whether checks differ only by their own edits, and refer to nothing."""
        return not self.floats and not any(
            check.slots or check.inner for check in self.rubric.checks
        )


@dataclass(slots=True)
class PlanBuilder:
    """Builds one plan: gives the edits their bits.

    It also finds the released versions between two pins of a judge.
    """

    finder: VersionFinder
    tokens: ContentLoader
    sides: tuple[RunReferences, RunReferences]
    sources: dict[int, EditSource] = field(default_factory=dict)
    silent: list[EditSource] = field(default_factory=list)
    floats: bool = False
    _next: int = OUTPUTS + 1  # the bit of the next edit
    _judges: dict[tuple[str, ...], Slot] = field(default_factory=dict)

    def build_plan(self, a: RunRubric, b: RunRubric, repin: Origin | None) -> RubricPlan:
        """Return the plan of two rubrics.

        `repin` is the step of the dataset that exchanged them, if there was one.
        """
        if self.finder.find_line(a.version, b.version):
            history = trace_edits(self.finder, a.version, b.version)
        else:
            history = trace_repin(self.finder, a.version, b.version, repin)
        rubric = self._plan_rubric(history, (a.rubric, b.rubric))
        judges = tuple(_build_chain(slot.bits) for slot in self._judges.values())
        trees = {
            FactorName.RUBRIC: Coalition(build_members(rubric)),
            FactorName.JUDGE: Coalition(judges),
        }
        trees = {name: tree for name, tree in trees.items() if tree.members}
        plan = RubricPlan(rubric, trees, self.sources, tuple(self.silent), self.floats)
        return (
            replace(plan, silent=(*plan.silent, *self.sources.values())) if plan.is_plain else plan
        )

    def _plan_rubric(
        self, history: EditHistory, sides: tuple[Rubric, Rubric], path: CheckPath = ()
    ) -> PlannedRubric:
        rubric = self._reserve_bits(history, path)
        named = zip(history.edits.names, sides, strict=True)
        old, new = ({names[check.id]: check for check in side.checks} for names, side in named)
        for name in history.edits.check_names:
            rubric.checks.append(self._plan_check(name, (old.get(name), new.get(name)), rubric))
        return rubric

    def _reserve_bits(self, history: EditHistory, path: CheckPath = ()) -> PlannedRubric:
        first, edits = self._next, history.edits.edits
        self._next += len(edits)
        self.sources |= {
            first + number: history.sources[edit.part] for number, edit in enumerate(edits)
        }
        self.silent += history.silent
        areas = enumerate((edit.part.area for edit in edits), first)
        scoring = sum(1 << bit for bit, area in areas if area in _SCORING_AREAS)
        return PlannedRubric(history.edits, first, [], scoring, path)

    def _plan_check(
        self, name: str, pair: tuple[Check | None, Check | None], rubric: PlannedRubric
    ) -> PlannedCheck:
        refs = [
            dict(list_slots(check, self.finder.find_first_name)) if check else {} for check in pair
        ]
        path = (*rubric.path, name)
        inner = self._plan_inner(refs[0], refs[1], path)
        pins = {slot: (refs[0].get(slot), refs[1].get(slot)) for slot in {**refs[0], **refs[1]}}
        slots = {slot: self._plan_slot(*ends) for slot, ends in pins.items()}
        by_side = [self._find_judges(check, side) for side in (0, 1) if (check := pair[side])]
        judges = set[str | None]().union(*by_side)
        grading = sum(
            1 << rubric.first + number for number in rubric.owner.list_grading_edits(name)
        )
        relevant = grading | sum(
            1 << bit for bit in {bit for slot in slots.values() for bit in slot.bits}
        )
        if inner:
            relevant |= list_bits(inner)
        if None in judges and self.sides[0].model != self.sides[1].model:
            # Neither check nor judge names a model, so it is whatever the run used.
            relevant |= 1 << SERVICE
        self.floats |= bool(relevant >> SERVICE & 1)
        asks_alike = self._asks_alike(by_side)
        return PlannedCheck(
            path,
            rubric.owner,
            rubric.first,
            slots,
            grading,
            relevant,
            bool(judges),
            asks_alike,
            inner,
        )

    def _asks_alike(self, judges: Sequence[set[str | None]]) -> bool:
        """Whether the judges of a check ask for the same models in both runs."""
        same_run = None not in judges[0] or self.sides[0].model == self.sides[1].model
        return len(judges) > 1 and judges[0] == judges[1] and same_run

    def _plan_inner(
        self, old: Mapping[str, str], new: Mapping[str, str], path: CheckPath
    ) -> PlannedRubric | None:
        """Return the plan of a composite's rubric.

        Returns None unless both have one and something in it changed.
        """
        name = next((name for name in old if name.startswith("rubric/") and name in new), None)
        if name is None:
            return None
        versions = self.sides[0].locate(old[name]), self.sides[1].locate(new[name])
        rubrics = (
            read_rubric(versions[0].resolved.artifact.value),
            read_rubric(versions[1].resolved.artifact.value),
        )
        tokens = [self._list_tokens(side, rubric) for side, rubric in enumerate(rubrics)]
        if versions[0].resolved.digest == versions[1].resolved.digest and tokens[0] == tokens[1]:
            return None
        return self._plan_rubric(trace_edits(self.finder, *versions), rubrics, path)

    def _plan_slot(self, old: str | None, new: str | None) -> Slot:
        if old is None or new is None:
            return Slot((self._find_token(0, old) if old else self._find_token(1, str(new)),))
        tokens = self._find_token(0, old), self._find_token(1, new)
        # The edits inside a composite are listed next to it, so its own reference never moves.
        if tokens[0] == tokens[1] or not old.startswith("judge/"):
            return Slot(tokens[1:])
        if old == new and parse_ref(old).is_floating:
            self._note_releases(old)
            return Slot(tokens, (SERVICE,))
        return self._plan_judge(old, new)

    def _note_releases(self, ref: str) -> None:
        """Note the releases that a floating reference went through.

        Nobody edited it, but another judge answers.
        """
        path = self.finder.find_path(self.sides[0].locate(ref), self.sides[1].locate(ref))
        known = [self.sources[SERVICE]] if SERVICE in self.sources else []
        self.sources[SERVICE] = join_sources([*known, *name_releases(self._trace_steps(path))])

    def _trace_steps(self, path: VersionPath) -> list[EditSource]:
        steps = zip(pairwise(path.versions), path.origins, strict=True)
        return [trace_judge(self.finder, *step, origin) for step, origin in steps]

    def _plan_judge(self, old: str, new: str) -> Slot:
        """Return the slot of a judge that is pinned at another version.

        Each released version in between is a step.
        """
        path = self.finder.find_path(self.sides[0].locate(old), self.sides[1].locate(new))
        tokens = tuple(self.tokens.make_token(version) for version in path.versions)
        if tokens not in self._judges:
            bits = tuple(range(self._next, self._next + len(path.origins)))
            self._next += len(bits)
            self._judges[tokens] = Slot(tokens, bits)
            self.sources |= zip(bits, self._trace_steps(path), strict=True)
        return self._judges[tokens]

    def _list_tokens(self, side: int, rubric: Rubric) -> set[str]:
        refs = (ref for check in rubric.checks for ref in _list_refs(check))
        return {self._find_token(side, ref) for ref in refs}

    def _find_token(self, side: int, ref: str) -> str:
        return self.tokens.make_token(self.sides[side].locate(ref))

    def _find_judges(self, check: Check, side: int) -> set[str | None]:
        """Return the models that the judges of a check, or of a composite, name.

        It includes None for a judge that names none.
        """
        found: set[str | None] = set()
        for ref in _list_refs(check):
            value = self.sides[side].locate(ref).resolved.artifact.value
            if ref.startswith("judge/"):
                found.add(_read_model_id(check.params) or _read_model_id(value))
            else:
                inner = (self._find_judges(one, side) for one in read_rubric(value).checks)
                found = found.union(*inner)
        return found


def build_members(rubric: PlannedRubric) -> tuple[Coalition | int, ...]:
    """Return the coalitions of a rubric.

    All edits of a check enter together; those of the whole rubric enter one by one.
    """
    by_check: dict[str, list[Coalition | int]] = {}
    for bit, edit in enumerate(rubric.owner.edits, rubric.first):
        by_check.setdefault(edit.check or f"/{bit}", []).append(bit)
    for check in rubric.checks:
        if check.inner and (members := build_members(check.inner)):
            by_check.setdefault(check.name, []).extend(members)
    return tuple(map(_join_members, by_check.values()))


def _join_members(members: Sequence[Coalition | int]) -> Coalition | int:
    first = members[0]
    return first if len(members) == 1 and isinstance(first, int) else Coalition(tuple(members))


def list_bits(rubric: PlannedRubric) -> int:
    """Return all bits that the score of a rubric depends on, apart from question and output."""
    own = rubric.owner.all_edits << rubric.first
    for check in rubric.checks:
        own |= check.relevant
    return own


def _build_chain(bits: Sequence[int]) -> Coalition | int:
    return bits[0] if len(bits) == 1 else Coalition(tuple(bits), ordered=True)


def _list_refs(check: Check) -> Iterator[str]:
    return (ref for _, ref in find_check_pins((), check.params))


def _read_model_id(holder: Mapping[str, Any]) -> str | None:
    model = holder.get("model")
    return model.get("id") or None if isinstance(model, Mapping) else None
