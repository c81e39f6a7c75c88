"""Plans a bump: which files it would release, at which versions.

It also finds which pins move with them. It only reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from evalstore.errors import EvalstoreError, RefError, RefusedError
from evalstore.lint.use import find_use_findings, list_target_files
from evalstore.model import Artifact, Kind, PinType, Ref, find_pins, parse_ref
from evalstore.model.artifact import read_origin
from evalstore.release.changes.acceptances import read_change_policy
from evalstore.release.changes.comparison import list_line_releases
from evalstore.release.changes.values import (
    FollowedVersion,
    LoweredVersion,
    PinnedVersion,
    Released,
)
from evalstore.release.changes.version_choice import suggest_free_version
from evalstore.release.dependencies.pins import (
    check_pins_released,
    find_pin_moves,
    list_floating_refs,
)
from evalstore.release.dependencies.references import list_references
from evalstore.release.dependencies.working_scan import scan_working_files
from evalstore.release.publishing.step import (
    BumpContext,
    BumpOptions,
    ReleaseStep,
    check_no_other_changes,
    plan_step,
)
from evalstore.release.transactions.journal import PinMove, ReleasedVersion
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.store.question_index import check_ids
from evalstore.store.repository.index import add_abort
from evalstore.store.resolve import can_mean
from evalstore.store.tags import find_last_release
from evalstore.text import find_nearest
from evalstore.versions import Version, parse_version

_ORDER = (Kind.JUDGE, Kind.RUBRIC, Kind.DATASET)  # what is pinned comes before what pins it
_NAME_LIMIT = 200  # bytes of a tag's name: files of that name, with .lock, must fit any file system


class BumpPlan(NamedTuple):
    """The steps of a bump, and what is known about its release beforehand."""

    steps: tuple[ReleaseStep, ...]
    preview: Released


@dataclass(frozen=True, slots=True)
class _PlanDraft:
    """A plan in the making: steps by name, and the versions that pins move to.

    It also has the drafts by name, and who pins or follows whom. `migrated` are the last releases
    of rubrics by the source that they were migrated from, which datasets from the same source
    should pin.
    """

    steps: dict[str, ReleaseStep] = field(default_factory=dict)
    targets: dict[str, Version] = field(default_factory=dict)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    migrated: defaultdict[object, dict[str, Version]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    pinned: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    # By the name that they follow.
    followers: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def choose_working_files(store: ArtifactStore, options: BumpOptions) -> list[Ref]:
    """Return the named working files, or all.

    Raises `RefError` for an unknown name.
    """
    working = {ref.name: ref for ref in store.working()}
    if options.all_:
        return list(working.values())
    return [_find_working_file(working, name) for name in dict.fromkeys(options.refs)]


def make_plan(store: ArtifactStore, options: BumpOptions) -> BumpPlan:
    """Choose every version of a bump.

    Raises `RefusedError`, `LoadError` or `RefError` for the first failure.
    """
    refs, today = choose_working_files(store, options), options.today
    draft, releases = _PlanDraft(), store.group_releases()
    context = BumpContext(
        store,
        releases,
        make_draft_loader(store, draft.artifacts),
        options,
        read_change_policy(store, today),
    )
    last = {
        name: release for name, all_ in releases.items() if (release := find_last_release(all_))
    }
    changed = {ref.name for ref in scan_working_files(store, refs, last).changed}
    requested = {ref.name: ref.name in changed for ref in refs}  # and whether its file changed
    # In the order of dependence: an artifact is planned once the versions of everything it pins are
    # known.
    for resolved in options.watch(_sort_by_dependency(_resolve_readable(store, changed))):
        _add_to_plan(draft, context, resolved, requested)
    _check_steps(store, draft.steps, releases)
    steps, beside = [step.resolved for step in draft.steps.values()], list_target_files(store)
    day = today or date.min
    found = find_use_findings(store, steps, today=day, load=context.load, beside=beside)
    found.refuse_if_strict("nothing was released")
    for dataset in (step for step in steps if step.kind is Kind.DATASET):
        check_ids(dataset, store)
    found.refuse_broken("nothing was released")
    names = [*requested, *(name for name in draft.steps if name not in requested)]
    ordered = tuple(draft.steps[name] for name in names if name in draft.steps)
    preview = Released(
        tuple(_describe_version(store, step, tagged=options.tag) for step in ordered),
        tuple(name for name in requested if name not in draft.steps),
        pinned=tuple(
            PinnedVersion(ref, tuple(sorted(by))) for ref, by in sorted(draft.pinned.items())
        ),
        followed=options.dependents,
        followers=tuple(_list_followed_versions(draft)),
        lowered=tuple(
            LoweredVersion(step.ref, step.adjustment_lines) for step in ordered if step.adjustments
        ),
        findings=tuple(found.list_lines()),
    )
    return BumpPlan(ordered, preview)


def _describe_version(store: ArtifactStore, step: ReleaseStep, *, tagged: bool) -> ReleasedVersion:
    moves = tuple(PinMove(old, new) for old, new in sorted(step.moves.items()))
    tag = f"{store.tag_prefix}{step.ref}" if tagged else None
    return ReleasedVersion(step.ref, tag, None, step.previous, step.bump, moves)


def _list_followed_versions(draft: _PlanDraft) -> Iterator[FollowedVersion]:
    for name, by in sorted(draft.followers.items()):
        # What the same bump releases has a new version to mention.
        if others := sorted(by - draft.steps.keys()):
            yield FollowedVersion(draft.steps[name].ref, draft.steps[name].bump, tuple(others))


def _add_to_plan(
    draft: _PlanDraft, context: BumpContext, resolved: Resolved, requested: Mapping[str, bool]
) -> None:
    name, is_named = resolved.name, resolved.name in requested
    strict, renumbered = requested.get(name, False), context.options.renumbered
    moves = _find_moves_if_readable(context, resolved, draft.targets, strict=strict)
    # What was never released and is not named keeps its pins, and is reported.
    can_follow = context.options.dependents and (is_named or context.find_known_releases(name))
    follows = moves if can_follow else {}
    if is_named and renumbered:
        follows = {old: new for old, new in moves.items() if _write_exact(old) in renumbered}
    origin = read_origin(resolved.artifact.value)
    # What an earlier bump left behind is reported again: nothing else would.
    lagging = draft.migrated.get(origin, {})
    behind = _find_moves_if_readable(context, resolved, lagging, strict=False) if lagging else {}
    for old in (moves | behind).keys() - follows.keys():
        draft.pinned[old].add(name)
    last = find_last_release(context.find_known_releases(name))
    if resolved.kind is Kind.RUBRIC and is_named and origin and last:
        draft.migrated[origin][name] = last.version
    if follows and not is_named:
        check_no_other_changes(context, resolved, follows)
    step = (
        plan_step(context, resolved, follows, is_named=is_named)
        if follows or requested.get(name)
        else None
    )
    if step is not None:
        draft.steps[name], draft.artifacts[name] = step, step.artifact
    elif context.find_known_releases(name):
        for ref in list_floating_refs(context.store, resolved, draft.steps) if draft.steps else ():
            if _will_mean(
                ref, draft.steps[ref.name].version, context.find_known_releases(ref.name)
            ):
                draft.followers[ref.name].add(name)
    draft.targets.update(_choose_pin_target(context, name, step, is_named=is_named))


def _write_exact(pin: str) -> str:
    ref = parse_ref(pin)
    return f"{ref.name}@{ref.version}"


def _will_mean(ref: Ref, version: Version, known: Iterable[Release]) -> bool:
    """Whether a floating reference means a version as soon as it is released.

    It does if that is the highest version that it can mean.
    """
    return can_mean(ref, version) and not any(
        release.version > version for release in known if can_mean(ref, release.version)
    )


def _choose_pin_target(
    context: BumpContext, name: str, step: ReleaseStep | None, *, is_named: bool
) -> dict[str, Version]:
    """Return the version that pins of this artifact move to, by its name.

    A pre-release is chosen only under --pre.
    """
    if step is not None:
        return {name: step.version} if context.options.pre or not step.version.prerelease else {}
    if not is_named or not context.options.dependents:
        return {}
    known = context.find_known_releases(name)
    last = next(reversed(known), None) if context.options.pre else find_last_release(known)
    return {name: last.version} if last else {}


def _find_moves_if_readable(
    context: BumpContext, resolved: Resolved, targets: Mapping[str, Version], *, strict: bool
) -> dict[str, str]:
    try:
        return find_pin_moves(context.store, resolved, targets)
    except EvalstoreError:
        if strict:
            raise
        return {}


def _resolve_readable(store: ArtifactStore, wanted: Collection[str]) -> Iterator[Resolved]:
    for ref in store.working():
        try:
            yield store.resolve(ref)
        except EvalstoreError as error:  # a broken file blocks only its own bump
            if ref.name in wanted:
                error.hint = add_abort(store.git, error.hint)
                raise


def _find_working_file(working: Mapping[str, Ref], text: str) -> Ref:
    ref = parse_ref(text)
    if ref.type not in {PinType.NONE, PinType.WORKTREE}:
        raise RefError(
            f"{ref} has a pin, but evalstore bump releases the working file",
            hint=f"evalstore bump {ref.name}",
        )
    if ref.name not in working:
        guess = find_nearest(ref.name, working)
        hint = f"did you mean {guess}?" if guess else "list the artifacts: evalstore list"
        raise RefError(f"there is no {ref.name} in the working tree", hint=hint)
    return working[ref.name]


def _sort_by_dependency(artifacts: Iterable[Resolved]) -> list[Resolved]:
    # Composites pin rubrics, and cannot be nested, so they come after all others of their kind.
    def sort_key(resolved: Resolved) -> tuple[int, bool]:
        pins = find_pins(resolved.kind, resolved.artifact.value)
        composite = any(pointer[-1] == "rubric_ref" for pointer, _ in pins)
        return _ORDER.index(resolved.kind), composite

    return sorted(artifacts, key=sort_key)


def _check_steps(
    store: ArtifactStore,
    steps: Mapping[str, ReleaseStep],
    releases: Mapping[str, Sequence[Release]],
) -> None:
    known = {name: [release.version for release in all_] for name, all_ in releases.items()}
    for step in steps.values():
        check_tag_name(f"{store.tag_prefix}{step.ref}")
        _check_version_free(step, list_line_releases(releases, step.resolved.artifact))
    # A pin may name a version of this bump: everything is released in one transaction.
    known |= {name: [*known.get(name, ()), step.version] for name, step in steps.items()}
    for step in steps.values():
        check_pins_released(store, list_references(store, step.resolved, step.moves), known)


def _check_version_free(step: ReleaseStep, known: Sequence[Release]) -> None:
    for release in known:
        version = release.version
        if version == step.version:
            raise RefusedError(
                f"{release.name}@{version} is already released, with other content",
                place=step.artifact.document.locate(("version",)),
                hint=suggest_free_version(release, step.bump, known),
            )
        # A tag made by hand may have build metadata, which precedence ignores.
        if version.without_build == step.version:
            raise RefusedError(
                f"{step.ref} has the same precedence as the released {version}",
                place=step.artifact.document.locate(("version",)),
                hint=(
                    "a range cannot tell versions apart that differ only after the +; choose a "
                    "higher version"
                ),
            )


def make_draft_loader(
    store: ArtifactStore, drafts: Mapping[str, Artifact]
) -> Callable[[str], Artifact]:
    """Return a function that loads references while `drafts` await release.

    The drafts are by `<kind>/<id>`.
    """

    def load(text: str) -> Artifact:
        ref = parse_ref(text)
        try:
            return store.read_artifact(ref)
        except RefError:
            draft = drafts.get(ref.name)
            if draft is None or not _can_become(ref, parse_version(draft.version)):
                raise
            return draft

    return load


def _can_become(ref: Ref, version: Version) -> bool:
    return can_mean(ref, version) if ref.is_floating else version == ref.version


def check_tag_name(tag: str) -> None:
    """Refuse a tag name that SemVer allows and git does not."""
    if tag.endswith(".lock") or len(tag) > _NAME_LIMIT:
        why = (
            "git allows no tag that ends in .lock"
            if tag.endswith(".lock")
            else f"a tag has at most {_NAME_LIMIT} bytes"
        )
        raise RefusedError(
            f"git cannot make the tag {tag[:_NAME_LIMIT]}: {why}", hint="choose another version"
        )
