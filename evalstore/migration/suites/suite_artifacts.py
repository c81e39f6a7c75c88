"""Gives a suite's artifacts ids: equal ones share one, known ones keep theirs, each is merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from evalstore.documents import compute_digest
from evalstore.migration.artifact_names import ArtifactNames, make_tag, rename_refs, shorten_slug
from evalstore.migration.extraction import ArtifactDraft
from evalstore.migration.merging.artifact_groups import ArtifactGroup, CaseKey
from evalstore.migration.merging.artifact_merge import (
    ConflictSide,
    MergeResult,
    choose_pin,
    digest_content,
    is_same_artifact,
    merge_artifact,
    merge_removed,
)
from evalstore.migration.merging.match_rounds import CONTENT_ROUNDS, MATCH_ROUNDS
from evalstore.migration.merging.part_merge import PartNode
from evalstore.migration.merging.stored_artifacts import StoredArtifact, StoredArtifacts
from evalstore.migration.outcome import FileState
from evalstore.migration.shared_rubrics import Share
from evalstore.migration.suites.suite_places import SuiteIdentity
from evalstore.model import Kind, select_scoring_part
from evalstore.model.question_params import list_value_keys
from evalstore.model.refs import ID_LENGTH

_MOVED_ON = (
    "{} was changed here, and no release of it says what the source says: this one is its own"
)
_TAKEN = "{} is taken here already: this one has another id"
_CONVERTED = "its cases share rubrics now, whose values are in the questions"
_LEFT_ALONE = frozenset({FileState.KEPT, FileState.CONFLICT})
FindRelease = Callable[[StoredArtifact, str], str | None]
LoadBase = Callable[[StoredArtifact, Mapping[str, Any]], PartNode | None]


@dataclass(frozen=True, slots=True)
class StoreTarget:
    """The store that a migration writes to, as every suite in it sees it.

    `find_release` returns the version of a release of an artifact by the digest of its content,
    `load_base` what was last migrated into an artifact, whose value it also takes. `settled` has
    the artifacts that every suite uses, by kind and content; rubrics are among them only if suites
    share. `share` is who shares rubrics, None if a stored suite continues as it is; `new_share` who
    does in a suite that is new then. `rubric_ids` are the ids of rubrics by format and own name,
    then by file.
    """

    stored: StoredArtifacts
    names: ArtifactNames
    side: ConflictSide
    find_release: FindRelease
    load_base: LoadBase
    share: Share | None = None
    new_share: Share = Share.SUITE
    rubric_ids: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    settled: dict[tuple[Kind, str], ArtifactDraft] = field(default_factory=dict)

    def is_taken(self, name: str) -> bool:
        """Whether an artifact `<kind>/<id>` already exists, in the store or in this migration."""
        return name in self.stored.names or self.names.is_used(name)


@dataclass(frozen=True, slots=True)
class PlannedArtifact:
    """One artifact under its final id: what the source gives, and its origin.

    `result` is what happens to the stored one.
    """

    draft: ArtifactDraft
    origin: Mapping[str, str]
    result: MergeResult
    stored: StoredArtifact | None = None


@dataclass(slots=True)
class SuiteBatch:
    """The artifacts of one suite, layer by layer: what refers to others comes after them.

    `head` is the origin of the artifact that represents the source; `is_headless` says that none
    does. `cases` counts the graded cases, `pins` are the references of the stored questions by
    case, `former` the ids that they had before, and `main` is the stored value itself. `planned`
    and `new_refs` grow with every layer. `claimed` are the stored artifacts in use, `passed` those
    that were examined and are not. `share` says who shares rubrics, `is_converted` that the store
    has the suite in another form.
    """

    format: str
    place: SuiteIdentity
    target: StoreTarget
    head: Mapping[str, str]
    cases: int
    pins: Mapping[str, str]
    former: Mapping[str, str] = field(default_factory=dict)
    run: str = ""
    is_headless: bool = False
    main: Mapping[str, Any] | None = None
    share: Share = Share.CASES
    is_converted: bool = False
    planned: list[PlannedArtifact] = field(default_factory=list)
    new_refs: dict[str, str] = field(default_factory=dict)
    claimed: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)

    def add_layer(self, items: Sequence[tuple[ArtifactDraft, CaseKey]]) -> list[ArtifactDraft]:
        """Return the drafts of one layer under their final ids.

        Each has the version to pin.
        """
        stored = self.target.stored.list_parts(self.format, self.place.key)
        by_name = {item.name: item for item in stored}
        groups: list[ArtifactGroup] = []
        for group in self._group_drafts(items):
            groups += self._split_by_pins(group, by_name)
        self._match_groups(groups, stored)
        often = [group for group in groups if group.is_wanted_often or group.draft.is_shape]
        words = Counter(group.draft.name for group in often)
        for group in groups:
            is_all = len(group.keys) == self.cases and (
                group.is_wanted_often or group.draft.is_shape
            )
            is_named = group.draft.name != "" and words[group.draft.name] == 1
            group.is_shared = is_all or (
                is_named and (group.is_wanted_often or group.is_for_any_case)
            )
        final: dict[int, ArtifactDraft] = {}
        # A group that splits adds its rest to the list while it is walked; it may have an artifact
        # from the last time.
        for group in groups:
            if rest := self._place_group(group, final):
                self._match_groups(rest, stored)
                groups += rest
        self.new_refs |= {items[index][0].ref: draft.ref for index, draft in final.items()}
        return [final[index] for index in range(len(items))]

    def add_main(self, draft: ArtifactDraft) -> ArtifactDraft:
        """Return the draft of the artifact that represents the whole source.

        It has the id of the suite.
        """
        named = replace(draft, id=self.place.id, value=rename_refs(draft.value, self.new_refs))
        share = {} if self.share is Share.CASES else {"share": self.share.value}
        origin = {
            "suite": self.place.key,
            **self.head,
            **share,
            "base": digest_content(named.value),
        }
        planned = self._plan_artifact(named, origin, self.place.stored, self.place.note, self.main)
        if self.is_converted and planned.result.state is FileState.UPDATED:
            self.planned[-1] = replace(planned, result=planned.result._replace(reason=_CONVERTED))
        return planned.draft

    def _group_drafts(
        self, items: Sequence[tuple[ArtifactDraft, CaseKey]]
    ) -> Iterator[ArtifactGroup]:
        groups: dict[tuple[Kind, str], ArtifactGroup] = {}
        for index, (draft, key) in enumerate(items):
            renamed = replace(draft, value=rename_refs(draft.value, self.new_refs))
            # Titles and other cosmetic keys do not count; what was set aside does.
            content = [
                draft.version,
                select_scoring_part(draft.kind, renamed.value),
                renamed.value.get("x_unmapped"),
            ]
            group = groups.setdefault((draft.kind, compute_digest(content)), ArtifactGroup(renamed))
            group.places[index] = key
        for group in groups.values():
            group.base = digest_content(group.draft.value)
            yield group

    def _split_by_pins(
        self, group: ArtifactGroup, stored: Mapping[str, StoredArtifact]
    ) -> Iterator[ArtifactGroup]:
        """Yield a group.

        Separate from it are the places whose questions pin what somebody has changed here.
        """
        by_name: dict[str, dict[int, CaseKey]] = {}
        for index, key in group.places.items():
            by_name.setdefault(self._find_pinned(key), {})[index] = key
        for name in [*by_name] if len(by_name) > 1 else ():
            item = stored.get(name)
            if item and item.kind is group.draft.kind and self._was_changed(item):
                yield replace(group.select(by_name.pop(name)), match=item)
                self.claimed.add(name)
                group.moved_on = item
        if rest := {index for places in by_name.values() for index in places}:
            yield group.select({index: key for index, key in group.places.items() if index in rest})

    def _find_pinned(self, key: CaseKey) -> str:
        """Return the name of the rubric that the question of a case pins.

        It is empty if it pins none.
        """
        return "" if key.part else self.pins.get(key.case, "").partition("@")[0]

    def _match_groups(
        self, groups: Sequence[ArtifactGroup], stored: Sequence[StoredArtifact]
    ) -> None:
        """Find the stored artifact of each group, by the rounds below."""
        cases = {key.case for group in groups for key in group.keys}
        # Several groups may ask for what one question has: among shapes, it is the one that most
        # questions share.
        groups = sorted(groups, key=lambda group: -len(group.keys) if group.draft.is_shape else 0)
        for place, (file_stored, list_keys) in enumerate(MATCH_ROUNDS if stored else ()):
            by_key: dict[Any, StoredArtifact] = {}
            for item in stored:
                key = file_stored(item, cases)
                if key is not None and not self._is_used(item.name):
                    by_key.setdefault((item.kind, key), item)
            for group in groups:
                # Something in another form is recognised by equal content only.
                is_other = self.is_converted and group.draft.is_shape and place >= CONTENT_ROUNDS
                if not group.match and not group.draft.is_common and not is_other:
                    keys = ((group.draft.kind, key) for key in list_keys(group, self.pins))
                    found = (by_key[key] for key in keys if key in by_key)
                    group.match = next((one for one in found if not self._is_used(one.name)), None)
                    self.claimed |= {group.match.name} if group.match else set()

    def _is_used(self, name: str) -> bool:
        return name in self.claimed or name in self.passed

    def _place_group(
        self, group: ArtifactGroup, final: dict[int, ArtifactDraft]
    ) -> Sequence[ArtifactGroup]:
        """Assign an artifact to a group of drafts, and return the groups that it splits into."""
        settled = (
            self.target.settled.get((group.draft.kind, group.base)) if not group.match else None
        )
        if settled and (group.draft.is_common or self.share is Share.ALL):
            self._settle(group, settled, final)
            return ()
        if group.draft.is_common:
            self._settle(group, self._plan_common(group), final)
            return ()
        if (
            group.match is None
            and self.share is Share.ALL
            and (other := self._find_elsewhere(group))
        ):
            self.claimed.add(f"{other.kind}/{other.id}")
            self._settle(group, other, final)
            return ()
        if group.match is None:
            self._place_new(group, final)
            return ()
        named = replace(group.draft, id=group.match.id)
        if not any(self._is_pinned(key, named) for key in group.keys) and self._was_changed(
            group.match
        ):
            # The case is gone; an equal new case must not inherit a local edit.
            self.claimed.discard(group.match.name)
            self.passed.add(group.match.name)
            return [replace(group, match=None, moved_on=group.match)]
        planned = self._plan_artifact(named, self._build_origin(group), group.match, "")
        # Somebody has changed it here. Questions that pin it keep doing so; a new one means what
        # the source says.
        stays = planned.result.state not in _LEFT_ALONE
        places = group.places.items()
        old = {index: key for index, key in places if stays or self._is_pinned(key, planned.draft)}
        self._settle(group.select(old), planned.draft, final)
        new = {index: key for index, key in places if index not in old}
        return [replace(group.select(new), match=None, moved_on=group.match)] if new else ()

    def _place_new(self, group: ArtifactGroup, final: dict[int, ArtifactDraft]) -> None:
        """Pin the release that says what the source says, or give the group a separate artifact."""
        if group.moved_on:
            named = replace(group.draft, id=group.moved_on.id)
            if version := self.target.find_release(group.moved_on, group.base):
                final |= dict.fromkeys(group.places, replace(named, version=version))
                return
            group.reason = _MOVED_ON.format(named.id)
        named = replace(group.draft, id=self._choose_id(group))
        self._settle(
            group,
            self._plan_artifact(named, self._build_origin(group), None, group.reason).draft,
            final,
        )

    def _was_changed(self, stored: StoredArtifact) -> bool:
        ours = self.target.stored.read_value(stored)
        return ours is None or digest_content(ours) != stored.origin.base

    def has_own_rubric(self, case: str) -> bool:
        """Whether somebody changed a case's rubric here, and it takes no values from questions."""
        name = self.pins.get(case, "").partition("@")[0]
        stored = self.target.stored.list_parts(self.format, self.place.key) if name else ()
        item = next((item for item in stored if item.name == name), None)
        value = self.target.stored.read_value(item) if item else None
        if item is None or value is None or digest_content(value) == item.origin.base:
            return False
        checks = value.get("checks")
        return not isinstance(checks, list) or not list_value_keys([value])

    def _is_pinned(self, key: CaseKey, draft: ArtifactDraft) -> bool:
        # What is not a question's own rubric is referred to by a rubric, which keeps its pins.
        return (
            bool(key.part)
            or not self.pins
            or is_same_artifact(draft.ref, self.pins.get(key.case, ""))
        )

    def _find_elsewhere(self, group: ArtifactGroup) -> ArtifactDraft | None:
        """Return another suite's artifact with this content.

        If it has moved on, it is at the release that has the content.
        """
        for item in self.target.stored.by_content.get((group.draft.kind, group.base), ()):
            ours = self.target.stored.read_value(item)
            version = ours and ours.get("version")
            if ours is None or digest_content(ours) != group.base:
                version = self.target.find_release(item, group.base)
            if isinstance(version, str):
                return replace(group.draft, id=item.id, version=version)
        return None

    def _settle(
        self, group: ArtifactGroup, draft: ArtifactDraft, final: dict[int, ArtifactDraft]
    ) -> None:
        """Note the reference of each place of a group.

        It is as its question pins it, or at the file's version.
        """
        for index, key in group.places.items():
            pin = None if key.part else self.pins.get(key.case)
            final[index] = replace(draft, version=choose_pin(draft.ref, pin).partition("@")[2])

    def _plan_common(self, group: ArtifactGroup) -> ArtifactDraft:
        """Plan a table's judge, which all suites share.

        It is recognised by its id, unless that is taken.
        """
        draft = group.draft
        ids = (draft.id, f"{draft.id}_{self.format}"[:ID_LENGTH])
        ours = self.target.stored.by_suite.get((self.format, ""), ())
        stored = next((item for item in ours if item.kind is draft.kind and item.id in ids), None)
        free = (id_ for id_ in ids if not self.target.is_taken(f"{draft.kind}/{id_}"))
        id_ = stored.id if stored else next(free, f"{draft.id}_{group.base[:6]}")
        reason = "" if stored or id_ == draft.id else _TAKEN.format(draft.id)
        return self._plan_artifact(
            replace(draft, id=id_), {"base": group.base}, stored, reason
        ).draft

    def _build_origin(self, group: ArtifactGroup) -> dict[str, str]:
        key, match = group.keys[0], group.match
        shared = group.is_shared
        if match and (
            not match.origin.case or CaseKey(match.origin.case, match.origin.part) in group.keys
        ):
            # A known place stays, so that a case inserted before it does not touch the file.
            key, shared = CaseKey(match.origin.case, match.origin.part), False
        names = {} if shared else {"case": key.case, "part": key.part}
        # A run is not an artifact: its rubrics state their own suite.
        head = self.head if self.is_headless else {}
        run = {"run": self.run} if self.run else {}
        places = {key: text for key, text in names.items() if text}
        return {"suite": self.place.key, **head, **places, **run, "base": group.base}

    def _plan_artifact(
        self,
        draft: ArtifactDraft,
        origin: Mapping[str, str],
        stored: StoredArtifact | None,
        reason: str,
        ours: Mapping[str, Any] | None = None,
    ) -> PlannedArtifact:
        value = {"id": draft.id, "version": draft.version, **draft.value}
        ours = ours or (self.target.stored.read_value(stored) if stored else None)
        result = MergeResult(FileState.NEW, reason, value)
        if stored:
            base, side = stored.origin.base, self.target.side
            if stored.is_removed and ours is not None:
                result = merge_removed(value, ours, base, side)
            else:
                load_base = partial(self.target.load_base, stored, ours or {})
                result = merge_artifact(value, ours, base, side, load_base)
            final = (
                result.value if result.value and result.state not in _LEFT_ALONE else ours or value
            )
            draft = replace(draft, version=str(final.get("version", draft.version)))
            self.claimed.add(stored.name)
        self.target.names.claim_id(f"{draft.kind}/{draft.id}", self.place.id)
        self.planned.append(PlannedArtifact(draft, origin, result, stored))
        return self.planned[-1]

    def settle_for_all(self) -> None:
        """Let later suites use what every suite may use, once this one is planned for good."""
        # A dataset belongs to nobody else, and contains a whole source.
        parts = (item for item in self.planned if item.draft.kind is not Kind.DATASET)
        for item in parts:
            if item.draft.is_common or (
                self.share is Share.ALL and item.result.state not in _LEFT_ALONE
            ):
                self.target.settled.setdefault((item.draft.kind, item.origin["base"]), item.draft)

    def _choose_id(self, group: ArtifactGroup) -> str:
        """Return a new id.

        It is made from the suite and its case, or from what several cases or a part of a case ask
        for.
        """
        draft, key = group.draft, group.keys[0]
        # A pointer identifies a case that has no id.
        case = key.case if not key.case.startswith("/") else ""
        label = case
        if group.is_shared:
            label = draft.name if len(group.keys) < self.cases or self.share is Share.ALL else ""
        elif key.part or not case:
            label = draft.name
        plain = self._join_words(label)
        longer = self._join_words(f"{case} {draft.name or draft.kind}" if key.part else case)
        tag = make_tag(f"{key.case} {key.part}")
        tagged = f"{plain[: ID_LENGTH - len(tag) - 1].rstrip('_')}_{tag}"
        candidates = (plain, *((longer,) if case else ()), tagged)
        free = (id_ for id_ in candidates if not self.target.is_taken(f"{draft.kind}/{id_}"))
        id_ = next(free, f"{tagged[: -len(tag)]}{make_tag(tag + group.base)}")
        if (
            id_ != plain
            and f"{draft.kind}/{plain}" in self.target.stored.names
            and not group.reason
        ):
            group.reason = _TAKEN.format(plain)
        return id_

    def _join_words(self, label: str) -> str:
        """Return the suite's key and the words of a label as one id."""
        if self.share is Share.ALL and label:
            return shorten_slug(label, ID_LENGTH)
        key = self.place.key
        return (
            f"{key}_{shorten_slug(label, ID_LENGTH - len(key) - 1) or make_tag(label)}"
            if label
            else key
        )
