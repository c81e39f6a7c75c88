"""Compares two documents: the facts, judged one by one, and the bump that they need together; knows nothing of git."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.changes.dataset import question_changes, read_questions
from evalstore.diff.changes.judge import judge_changes
from evalstore.diff.changes.loose import key_changes, loose_changes
from evalstore.diff.changes.rubric import rubric_changes
from evalstore.diff.changes.spelling import spelling_changes
from evalstore.diff.classify import classify
from evalstore.diff.direction import VERDICT_MODES
from evalstore.diff.findings import Diff, DiffFinding, Direction, Profile, Side
from evalstore.diff.fingerprint import distinct, fingerprint, gathered
from evalstore.diff.plain import plain, same
from evalstore.diff.readers import Readers
from evalstore.diff.refs import Load, follow
from evalstore.diff.state import read_rubric
from evalstore.diff.terms import Terms, declared, weigh
from evalstore.diff.witness import Replay
from evalstore.documents import Pointer, digest, json_pointer
from evalstore.errors import LoadError, Place
from evalstore.model import Artifact, Kind, is_cosmetic
from evalstore.versions import Bump, find_version, next_version

Rows = tuple[Iterable[Mapping[str, Any]], Iterable[Mapping[str, Any]]]

_DEPTH = 4
_ROOT = frozenset({"id", "version", "checks", "scoring"})
_SHAPES = {"checks": Kind.RUBRIC, "template": Kind.JUDGE, "questions": Kind.DATASET, "rows": Kind.DATASET}


def compare(
    old: Artifact | Mapping[str, Any],
    new: Artifact | Mapping[str, Any],
    *,
    load: Load | None = None,
    rows: Rows | None = None,
    terms: Terms | None = None,
) -> Diff:
    """Return what changed between two artifacts (or plain mappings), and which bump that needs.

    `load` reads what a reference names, so that a moved pin imports exactly the other artifact's change; without it a
    moved pin is major. `rows` are the rows, old and new, of a dataset that keeps them in a file beside it. `terms` are
    what the store says of changes: a profile, declarations, overrides, and what people accepted.
    """
    return _Comparison(load, terms or Terms()).diff(old, new, rows)


@dataclass(slots=True)
class _Comparison:
    """One comparison and those of the references within it, each pair once."""

    load: Load | None
    terms: Terms
    depth: int = 0
    shows: bool = True
    known: dict[tuple[str, str], Diff] = field(default_factory=dict)

    def diff(self, old: Any, new: Any, rows: Rows | None = None) -> Diff:
        sides = (_side(old), _side(new))
        load = self.load if self.depth < _DEPTH else None
        changes = [follow(change, load, self._inner, self.terms.locked) for change in self._declared(sides, rows, load)]
        readers = Readers(load, self._written)
        changes = [readers.follow(change) for change in changes]
        changes = changes or list(_respelled(sides))
        findings = [_finding(change, sides, self.terms.profile) for change in changes]
        claimed = distinct(_claimed(changes, _witnessed(changes, findings, load) if self.shows else findings))
        weighed = tuple(weigh(finding, self.terms) for finding in claimed)
        bump = max((finding.level for finding in weighed), default=Bump.NONE)
        version = _next(sides[0].value, bump)
        return Diff(sides[0].side, sides[1].side, bump, version, weighed, self.terms.rule_set, self.terms.profile)

    def _declared(self, sides: tuple[_Document, _Document], rows: Rows | None, load: Load | None) -> Iterator[Change]:
        renames = self.terms.renames.get(sides[1].name, {})
        return (declared(change, self.terms, renames) for change in _changes(sides, rows, renames, load))

    def _inner(self, old: Artifact, new: Artifact) -> Diff:
        pair = (old.digest, new.digest)
        if pair not in self.known:
            self.known[pair] = _Comparison(self.load, self.terms.bare, self.depth + 1, known=self.known).diff(old, new)
        return self.known[pair]

    def _written(self, old: Mapping[str, Any], new: Mapping[str, Any], shows: bool) -> Diff:  # noqa: FBT001  # by place
        return _Comparison(None, self.terms.bare, shows=shows).diff(old, new)


@dataclass(frozen=True, slots=True)
class _Document:
    value: dict[str, Any]
    kind: Kind | None
    artifact: Artifact | None

    @property
    def side(self) -> Side:
        ref = f"{self.artifact.kind}/{self.artifact.id}@{self.artifact.version}" if self.artifact else None
        return Side(ref, digest({key: item for key, item in self.value.items() if key != "version"}))

    @property
    def name(self) -> str:
        return f"{self.kind or 'mapping'}/{self.value.get('id', '')}"

    def place(self, pointer: Pointer | None) -> Place | None:
        return None if pointer is None or self.artifact is None else self.artifact.document.place(pointer)


def _side(side: Artifact | Mapping[str, Any]) -> _Document:
    if not isinstance(side, Artifact | Mapping):
        raise LoadError(f"an artifact or a mapping is compared, and a {type(side).__name__} is neither")
    artifact = side if isinstance(side, Artifact) else None
    value: dict[str, Any] = plain(side.value if isinstance(side, Artifact) else side)
    kind = artifact.kind if artifact else next((kind for key, kind in _SHAPES.items() if key in value), None)
    return _Document(value, kind, artifact)


def _changes(
    sides: tuple[_Document, _Document], rows: Rows | None, renames: Mapping[str, str], load: Load | None
) -> Iterator[Change]:
    old, new = (side.value for side in sides)
    kinds = {side.kind for side in sides}
    if kinds == {Kind.RUBRIC}:
        return _rubric(old, new, load)
    if kinds == {Kind.JUDGE}:
        return judge_changes(old, new)
    if kinds == {Kind.DATASET}:
        return _dataset(sides, rows, renames)
    return _unread(old, new)


def _rubric(old: dict[str, Any], new: dict[str, Any], load: Load | None) -> Iterator[Change]:
    before, after = read_rubric(old), read_rubric(new)
    if before is None or after is None:
        yield from _unread(old, new)
        return
    if not same(old.get("id"), new.get("id")):
        yield Change("rubric-id-changed", old.get("id"), new.get("id"), ("id",), ("id",))
    yield from loose_changes(old, new, known=_ROOT)
    yield from rubric_changes(before, after, load)
    yield from spelling_changes(old, new, (before, after))


def _dataset(sides: tuple[_Document, _Document], rows: Rows | None, renames: Mapping[str, str]) -> Iterator[Change]:
    old, new = (_with_rows(side.value, rows and rows[index]) for index, side in enumerate(sides))
    before, after = read_questions(old), read_questions(new)
    if before is None or after is None:
        yield from _unread(old, new)
        return
    read = {"version", "questions", "defaults", *(["rows"] if rows else [])}
    for key, mine, theirs in key_changes(old, new):
        if key in {"id", "rows"} - read:
            yield Change("unclassified-change", mine, theirs, (key,), (key,), name=key)
    yield from loose_changes(old, new, known=read | {"id", "rows"})
    yield from question_changes(before, after, renames)


def _with_rows(value: dict[str, Any], rows: Iterable[Mapping[str, Any]] | None) -> dict[str, Any]:
    """Return a dataset with its rows where it names their file."""
    return value if rows is None or "rows" not in value else value | {"rows": [plain(row) for row in rows]}


def _unread(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Change]:
    for key, before, after in key_changes(old, new):
        if key != "version":
            rule = "metadata-changed" if is_cosmetic(key) else "unclassified-change"
            yield Change(rule, before, after, (key,), (key,), name=key)


def _respelled(sides: tuple[_Document, _Document]) -> Iterator[Change]:
    # Another digest under one version would be a second ruler of that name.
    old, new = ({key: item for key, item in side.value.items() if key != "version"} for side in sides)
    if not same(old, new):
        yield Change("spelling-changed", old, new, (), ())


def _finding(change: Change, sides: tuple[_Document, _Document], profile: Profile) -> DiffFinding:
    judged = classify(change, profile)
    places = tuple(
        _standing(side.value, pointer)
        for side, pointer in zip(sides, (change.old_pointer, change.new_pointer), strict=True)
    )
    pointer = json_pointer(next((place for place in reversed(places) if place is not None), ()))
    finding = DiffFinding(
        rule=judged.rule.id,
        level=judged.level,
        level_before=judged.level,
        direction=judged.directions[0],
        verdict_direction=judged.directions[1],
        certainty=judged.certainty,
        pointer=pointer,
        old=sides[0].place(places[0]),
        new=sides[1].place(places[1]),
        message=judged.message,
        reason=judged.reason,
        witness=None,
        max_shift=judged.max_shift,
        fingerprint=fingerprint(judged.rule.id, sides[1].name, change, (sides[0].value, sides[1].value)),
        children=change.imported.findings if change.imported else (),
        before=_value(sides[0].value, change.old_pointer, change.old),
        after=_value(sides[1].value, change.new_pointer, change.new),
    )
    return gathered(finding)


def _standing(value: Any, pointer: Pointer | None) -> Pointer | None:
    """Return a pointer cut to what the document has: a default is written nowhere."""
    if pointer is None:
        return None
    for length, step in enumerate(pointer):
        inside = step in value if isinstance(value, dict) else isinstance(value, list) and step in range(len(value))
        if not inside:
            return pointer[:length]
        value = value[step]
    return pointer


def _value(document: Any, pointer: Pointer | None, fact: Any) -> Any:
    """Return what is written at a pointer; the fact itself where that is a default, or a row of another file."""
    if not pointer:
        return None
    if _standing(document, pointer) != pointer:
        return fact
    return reduce(lambda value, step: value[step], pointer, document)


def _witnessed(changes: list[Change], findings: list[DiffFinding], load: Load | None) -> list[DiffFinding]:
    """Give each finding that can move a score or a verdict an output that moves, where one is found."""
    states = [state for change in changes if change.before for state in change.states]
    if not states:
        return findings
    replay = Replay(states[0], states[-1], load)
    return [
        replace(finding, witness=replay.find(change)) if change.before and _moves(finding) else finding
        for change, finding in zip(changes, findings, strict=True)
    ]


def _moves(finding: DiffFinding) -> bool:
    return finding.level is Bump.MAJOR and {finding.direction, finding.verdict_direction} != {Direction.NONE}


def _claimed(changes: list[Change], findings: list[DiffFinding]) -> list[DiffFinding]:
    """Give a changed mode the findings on weights and thresholds that one of its two modes does not read."""
    mode = next((index for index, change in enumerate(changes) if change.rule == "scoring-combine-changed"), None)
    if mode is None:
        return findings
    mine = [
        index
        for index, change in enumerate(changes)
        if _is_ineffective(change, changes[mode]) and findings[index].level <= findings[mode].level
    ]
    owner = gathered(replace(findings[mode], children=tuple(findings[index] for index in mine)))
    return [owner if index == mode else finding for index, finding in enumerate(findings) if index not in mine]


def _is_ineffective(change: Change, mode: Change) -> bool:
    if change.rule == "check-weight-changed":
        return True
    both_read = VERDICT_MODES.issuperset({mode.old, mode.new})
    if not change.rule.startswith("check-threshold-") or change.checks[1].reads_bar:
        return False
    return not both_read and not change.checks[1].gated


def _next(old: dict[str, Any], bump: Bump) -> str | None:
    version = find_version(str(old.get("version", "")))
    return str(next_version(version, bump)) if version and bump else None
