"""How every artifact differs from its last release.

It also says which acceptances have ended, and which no change needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from evalstore.diff import Detail
from evalstore.errors import EvalstoreError
from evalstore.lint import ACCEPTED, make_file_source
from evalstore.model import Finding, Kind, PinType, Ref
from evalstore.progress import Watch
from evalstore.release.changes.acceptances import Acceptance, ChangePolicy, read_change_policy
from evalstore.release.changes.asked_changes import format_trailer
from evalstore.release.changes.base_policy import BasePolicies
from evalstore.release.changes.comparison import (
    Load,
    compare_with_release,
    find_base_release,
    list_line_releases,
    name_line,
)
from evalstore.release.changes.drift import (
    MovedReferenceFinder,
    find_kept_moves,
    find_lagging_pins,
    find_moved_artifacts,
    find_moved_level,
    make_lagging_findings,
)
from evalstore.release.changes.signers_file import check_signers_file
from evalstore.release.changes.store_changes import find_store_changes
from evalstore.release.changes.values import (
    ArtifactState,
    ArtifactStatus,
    ReachCounts,
    StalePin,
    Status,
)
from evalstore.release.changes.version_choice import (
    find_free_version,
    find_taken_release,
    suggest_free_version,
)
from evalstore.release.changes.version_rules import VersionJudgement, VersionRule, judge_version
from evalstore.release.dependencies.reference_graph import ReferenceGraph
from evalstore.release.dependencies.references import ArtifactReference, list_references
from evalstore.release.dependencies.release_branches import BranchFinder
from evalstore.release.dependencies.renames import describe_proposal, propose_renames
from evalstore.release.dependencies.validity import (
    check_gradable,
    check_pins,
    check_tags_complete,
    require_version,
)
from evalstore.release.transactions.locking import open_leftover_journal
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.store.repository.index import add_abort
from evalstore.store.resolve import may_mean
from evalstore.store.revisions import resolve_revision
from evalstore.store.tags import find_last_release
from evalstore.store.working_files import read_working_files
from evalstore.versions import Bump, Version, find_version, parse_version

if TYPE_CHECKING:
    from evalstore.diff import Diff, Profile
    from evalstore.lint import PendingAcceptances


_UNRELEASED, _SINCE_BASE = "not released yet", "released since the base"
_PINNED = frozenset({PinType.EXACT, PinType.RANGE})  # kinds of pins that name versions


@dataclass(frozen=True, slots=True)
class StoreSurvey:
    """Every artifact that differs from its last release.

    It has the number of all artifacts, and their last releases by name. `lagging` are findings
    about pins that stayed behind when the source of dataset and rubric changed.
    """

    artifacts: tuple[ArtifactStatus, ...]
    total: int
    last: Mapping[str, Version]
    lagging: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _SurveyContext:
    """What comparing a file needs.

    It has the store, how references are loaded, how changes are judged, and how drift is found.
    `known` are the releases by name that count as such: with a base, those that the base has seen.
    """

    store: ArtifactStore
    known: Mapping[str, Sequence[Release]]
    load: Load
    list_policies: Callable[[Release], Sequence[ChangePolicy]]
    finder: MovedReferenceFinder
    branches: BranchFinder
    detail: Detail


def read_status(
    store: ArtifactStore,
    *,
    today: date | None = None,
    profile: Profile | None = None,
    base: str | None = None,
    watch: Watch[Any] = iter,
) -> Status:
    """Compare every working file with its last release; raises `RefusedError` in a bare repository.

    `today` is the day by which acceptances end: without it, those with an end date do not hold.
    `profile` overrides the one that evalstore.yaml names. Settings that were loosened since the
    last release do not count, and are findings; with `base`, a revision, those of that commit
    count, with its acceptances, and later releases are judged as changes. `watch` wraps the
    iteration over the files (a progress bar).
    """
    policy = read_change_policy(store, today, profile)
    commit = None if base is None else resolve_revision(store.git, store.objects, base)
    bases = BasePolicies(store, policy, commit, profile)
    survey = survey_store(store, policy, bases, watch=watch)
    pending = dict(_match_acceptances(policy.acceptances, survey))
    findings = _validate_acceptances(store, pending, today) if pending else ()
    findings = (
        *bases.find_loosenings(),
        *findings,
        *survey.lagging,
        *_find_retirements(store, today),
        *(check_signers_file(store) if base is None else ()),  # with a base, `verify` says it
    )
    return Status(
        survey.artifacts,
        survey.total,
        findings,
        pending,
        profile=str(policy.settings.profile),
        rule_set=policy.settings.rule_set,
        interrupted=_find_interrupted_bump(store),
    )


def _find_interrupted_bump(store: ArtifactStore) -> str | None:
    """Say which killed bump of this working tree is waiting to be finished, and how.

    Returns None if there is none. It only reads.
    """
    with open_leftover_journal(store.git) as leftover:
        if leftover is None:
            return None
        from evalstore.release.transactions.journal import describe_interrupted

        return describe_interrupted(*leftover)


def _match_acceptances(
    acceptances: Iterable[Acceptance], survey: StoreSurvey
) -> Iterator[tuple[tuple[str, str, str], bool]]:
    """Yield each acceptance since the last release, and whether it has a change."""
    statuses = {status.ref: status for status in survey.artifacts}
    for entry in acceptances:
        status = statuses.get(entry.artifact)
        if status and status.state is ArtifactState.BROKEN:
            continue  # its changes are not known
        # On a branch that has not seen the last release, changes are those since the one it began
        # from.
        base = (
            parse_version(status.released)
            if status and status.released
            else survey.last.get(entry.artifact)
        )
        # Older acceptances were used up by a release: they are history, needed or not.
        if base is None or entry.since >= base:
            prints = {finding.fingerprint for finding in status.findings} if status else ()
            is_needed = entry.since == base and entry.fingerprint in prints
            yield (entry.artifact, str(entry.since), entry.fingerprint), is_needed


def _validate_acceptances(
    store: ArtifactStore, pending: PendingAcceptances, today: date | None
) -> tuple[Finding, ...]:
    if store.root is None:
        return ()
    from evalstore.lint import KnownRules, validate

    sources = [make_file_source(store.root / ACCEPTED, ACCEPTED)]
    known = KnownRules(pending=pending)
    return validate(
        sources, load=None, settings=store.settings, today=today or date.min, known=known
    ).findings


def _find_retirements(store: ArtifactStore, today: date | None) -> Iterator[Finding]:
    """Yield the judges whose model is or will soon be switched off.

    A file that names no day is not read.
    """
    if store.root is None or today is None:
        return
    refs = [ref for ref in store.working() if ref.kind is Kind.JUDGE]
    files = read_working_files(store, refs)
    named = [ref for ref, data in files if data is not None and b"retires" in data]
    if named:
        from evalstore.lint import validate

        sources = [make_file_source(store.root / ref.path, ref.path) for ref in named]
        found = validate(sources, load=None, settings=store.settings, today=today).findings
        yield from (finding for finding in found if finding.rule == "judge-model-retires")


def survey_store(
    store: ArtifactStore,
    policy: ChangePolicy,
    bases: BasePolicies | None = None,
    *,
    detail: Detail = Detail.BUMP,
    watch: Watch[Any] = iter,
) -> StoreSurvey:
    """Compare every working file with its last release.

    `policy` says at which level each change counts. With `bases`, a change is also judged by
    theirs, and not against releases that they have not seen. `detail` is what to find out about
    each change.
    """
    changes = find_store_changes(store, bases, watch=watch)
    finder = MovedReferenceFinder(store, changes.releases, policy.settings.without_opinions)
    list_policies = bases.list_policies if bases else lambda _: [policy]
    context = _SurveyContext(
        store,
        changes.known,
        store.with_worktree().read_artifact,
        list_policies,
        finder,
        BranchFinder(store),
        detail,
    )
    statuses = [_survey_artifact(context, ref) for ref in watch(changes.scan.changed)]
    # Then what has no changed file: removed artifacts, and unchanged ones whose references moved.
    graph = ReferenceGraph(store, changes.scan.mentions)
    unreleased = [status for status in statuses if not status.is_released]
    new = [status.ref for status in unreleased if status.state is ArtifactState.NEW]
    proposed = propose_renames(store, new, changes.gone)
    hints = {name: describe_proposal(name, former) for name, former in proposed.items()}
    statuses = [replace(status, hint=hints.get(status.ref, status.hint)) for status in statuses]
    renamed = {status.renamed_from: status.ref for status in statuses if status.renamed_from}
    statuses += [_describe_renamed(gone, renamed.get(gone.ref)) for gone in changes.removed]
    statuses += find_moved_artifacts(finder, graph, changes.unchanged)
    complete = (add_dependents(status, graph) for status in statuses)
    artifacts = tuple(sorted(complete, key=lambda status: status.ref))
    lagging = tuple(make_lagging_findings(store, find_lagging_pins(store, graph, changes.releases)))
    return StoreSurvey(
        artifacts,
        changes.total,
        {name: base.version for name, base in changes.last.items()},
        lagging,
    )


def _describe_renamed(gone: ArtifactStatus, new: str | None) -> ArtifactStatus:
    return (
        replace(gone, message=f"renamed to {new}; its releases stay") if new and gone.ok else gone
    )


def _survey_artifact(context: _SurveyContext, ref: Ref) -> ArtifactStatus:
    try:
        return _compare_artifact(context, ref)
    except EvalstoreError as error:
        # What cannot be read or compared counts as major: fail closed.
        last = find_last_release(context.known.get(ref.name, ()))
        broken = ArtifactStatus(
            ref.name,
            ArtifactState.BROKEN,
            False,
            str(error),
            required_bump=Bump.MAJOR,
            place=error.place,
            hint=add_abort(context.store.git, error.hint),
        )
        return replace(broken, released=str(last.version)) if last else broken


def _compare_artifact(context: _SurveyContext, ref: Ref) -> ArtifactStatus:
    store, known = context.store, context.finder.releases
    new = store.resolve(ref)
    check_gradable(new, context.load)
    check_pins(store, list_references(store, new), known)
    name = name_line(context.known, new.artifact)
    # Ledgers are checked before the comparison: with tags missing, the last release would be wrong.
    for recorded in dict.fromkeys((ref.name, name)):
        check_tags_complete(store, recorded, known)
    working, line = require_version(new), list_line_releases(known, new.artifact)
    last = find_base_release(store, context.known.get(name, ()), working)
    own = next((one for one in line if one.version == working), None)
    base = find_base_release(store, known.get(name, ()), working)  # which a bump goes by
    latest = own or base
    if last is None:
        is_tagged = own is not None and own.name == ref.name
        message = f"new, {_SINCE_BASE if is_tagged else 'never released'}"
        status = ArtifactStatus(
            ref.name, ArtifactState.NEW, True, message, working=str(working), is_released=is_tagged
        )
    else:
        status = _compare_with_last(context, last, new, line)
    if status.ok and latest and latest != last:
        status = _judge_later(context, status, new, latest, line)
    if status.ok:
        return status
    required = status.required_bump
    taken = find_taken_release(base.version, working, required, line) if base else own
    return replace(status, hint=suggest_free_version(taken, required, line)) if taken else status


def _compare_with_last(
    context: _SurveyContext, last: Release, new: Resolved, line: Sequence[Release]
) -> ArtifactStatus:
    """Judge a file against its last release; `line` are all releases whose numbers are taken."""
    diff, needed = _compare_strictly(context, last, new)
    working, versions = require_version(new), [release.version for release in line]
    # What a reference means counts as much as what it says.
    moved = find_kept_moves(context.finder, last, new.name)
    required = max(needed, find_moved_level(moved))
    judgement = judge_version(last.version, working, required, versions)
    # Only with a base can there be tags of versions that count as changes.
    is_tagged = any(working == one.version for one in context.finder.releases.get(new.name, ()))
    message = (
        judgement.message.replace(_UNRELEASED, _SINCE_BASE) if is_tagged else judgement.message
    )
    newest = find_last_release(context.known.get(last.name, ()))
    message += f"; renamed from {last.name}" if last.name != new.name else ""
    return ArtifactStatus(
        new.name,
        ArtifactState.CHANGED if required or last == newest else ArtifactState.BEHIND,
        judgement.ok,
        message
        + ("" if newest is None or last == newest else f"; {_describe_newer(context, newest)}"),
        released=str(last.version),
        working=str(working),
        required_bump=required,
        next_version=_find_next_version(
            last, required, line, released=working if is_tagged else None
        ),
        rule=judgement.rule,
        moved=moved,
        findings=diff.findings,
        place=new.artifact.document.locate(("version",)),
        asked=format_trailer(diff.asked) if diff.asked else None,
        is_released=is_tagged and working > last.version,
        renamed_from=last.name if last.name != new.name else None,
    )


def _find_next_version(
    base: Release, required: Bump, line: Sequence[Release], released: Version | None = None
) -> str | None:
    """Return the version that a change needs, None for no change.

    Every other release has taken its number; the file's own, if it is `released`, has not.
    """
    if not required:
        return None
    taken = [one.version for one in line if one.version != released]
    return str(find_free_version(base.version, required, taken))


def _judge_later(
    context: _SurveyContext,
    status: ArtifactStatus,
    new: Resolved,
    release: Release,
    line: Sequence[Release],
) -> ArtifactStatus:
    """Judge a file against a release that the base has not seen, or also against a candidate.

    A number counts only with its content: the status says what the file lacks since that release.
    The change of a candidate remains the one since the last release, which a bump goes by.
    """
    diff, needed = _compare_strictly(context, release, new)
    required = max(needed, find_moved_level(find_kept_moves(context.finder, release, new.name)))
    versions = [one.version for one in line]
    judgement = judge_version(release.version, require_version(new), required, versions)
    if judgement.ok:
        return status
    refused = replace(
        status,
        ok=False,
        state=ArtifactState.CHANGED,
        message=_describe_later(release, judgement),
        rule=judgement.rule,
        place=new.artifact.document.locate(("version",)),
        is_released=False,
    )
    if release.version.prerelease:
        return refused
    return replace(
        refused,
        released=str(release.version),
        required_bump=required,
        next_version=_find_next_version(release, required, line),
        findings=diff.findings,
    )


def _describe_later(release: Release, judgement: VersionJudgement) -> str:
    if judgement.rule is VersionRule.NOT_BUMPED:
        return f"{release.version} was released with other content: {judgement.message}"
    if judgement.rule is VersionRule.TOO_SMALL:
        return f"{release.version} is released, and the edit since then {judgement.message}"
    return judgement.message


def _describe_newer(context: _SurveyContext, release: Release) -> str:
    """Say where a release is that this branch lacks."""
    branch = context.branches.find_branch(release)
    where = f"{branch} has" if branch else "no branch here has"
    return f"{where} the released {release.version}"


def _compare_strictly(context: _SurveyContext, last: Release, new: Resolved) -> tuple[Diff, Bump]:
    """Compare a file with its last release by today's policy.

    The bump is that of the strictest policy.
    """
    compare = partial(compare_with_release, context.store, last, new)
    load, detail = context.load, context.detail
    policies = context.list_policies(last)
    diffs = [compare(policy, load=load, detail=detail) for policy in policies]
    return diffs[0], max(diff.required_bump for diff in diffs)


def add_dependents(status: ArtifactStatus, graph: ReferenceGraph) -> ArtifactStatus:
    """Return a status with what refers to its artifact, directly or not."""
    users, reach = graph.find_references_to(status.ref), graph.find_reached(status.ref)
    return replace(
        status,
        dependents=tuple(sorted({reference.name for reference in users})),
        reached=ReachCounts(
            len(reach.rubrics), len(reach.questions), sum(reach.questions.values())
        ),
        pins=tuple(_find_stale_pins(status, users)),
    )


def _find_stale_pins(
    status: ArtifactStatus, users: Iterable[ArtifactReference]
) -> Iterator[StalePin]:
    versions = [find_version(text) for text in (status.working, status.next_version) if text]
    if (
        status.released is None
        or status.state is not ArtifactState.CHANGED
        or not status.required_bump
    ):
        return
    # The next release has at least the version of the file, and at least the one that the change
    # needs.
    new = max(version for version in versions if version)
    for reference in users:
        # What a judge was measured on is a record of the past, which stays.
        if reference.scores and reference.ref.type in _PINNED and not may_mean(reference.ref, new):
            yield StalePin(reference.name, str(reference.ref), reference.place)
