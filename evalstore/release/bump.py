"""Bump: releases working files, each at the version that its change needs, in one commit with all its tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from evalstore.errors import RefusedError, UsageError
from evalstore.files import open_below, write_below
from evalstore.model import Ref
from evalstore.progress import Watch
from evalstore.release.acceptances import find_uncommitted_acceptances
from evalstore.release.commit_files import complete_signature, find_bypassed_hooks, find_checkout, list_commit_files
from evalstore.release.journal import FileChange, PinMove, ReleasedVersion
from evalstore.release.locking import LockedRepository, lock_repository
from evalstore.release.pins import move_pins_in_rows
from evalstore.release.plan import BumpPlan, choose_working_files, make_plan
from evalstore.release.publish import (
    ReleaseContext,
    ReleaseMessages,
    format_commit_message,
    format_tag_message,
    publish_release,
    write_release_files,
)
from evalstore.release.push import PushRoute, find_push_refs, find_push_route, plan_push, push_release
from evalstore.release.recovery import recover_interrupted
from evalstore.release.references import find_rows_path
from evalstore.release.step import BumpOptions, ReleaseStep, check_prerelease_label
from evalstore.release.values import Released
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.git import ConfigSetting, read_config
from evalstore.store.revisions import Head, read_head
from evalstore.store.signers import is_signature_required, read_required_signers
from evalstore.versions import Bump

_RETRY_HINT = "free some space or fix the permissions, then run the same bump again: it finishes this one"


@dataclass(frozen=True, slots=True)
class BumpRequest:
    """What a bump is to do: which working files, how versions are chosen, the message, whether it tags, and pushes.

    `push` is the remote's name, or whether to push to the branch's own.
    """

    refs: Sequence[Ref]
    options: BumpOptions
    message: str | None
    tag: bool
    sign: bool
    push: bool | str
    today: date | None
    watch: Watch[Resolved]
    watch_writing: Watch[FileChange]
    watch_signing: Watch[str]


def bump(  # noqa: PLR0913  # one a word of the command line
    store: ArtifactStore,
    refs: Sequence[str] = (),
    *,
    all_: bool = False,
    level: Bump | None = None,
    pre: str | None = None,
    dependents: bool = False,
    tag: bool = True,
    commit: bool = True,
    dry_run: bool = False,
    message: str | None = None,
    sign: bool = False,
    push: bool | str = False,
    signature: Mapping[str, str] | None = None,
    today: date | None = None,
    watch: Watch[Resolved] = iter,
    watch_writing: Watch[FileChange] = iter,
    watch_signing: Watch[str] = iter,
) -> Released:
    """Release the working files of `refs`, or all that changed; what stays as it was released is named and left alone.

    `level` asks for more than a change needs. `pre` makes pre-releases of that label. With `dependents` the pins of
    what refers to a released artifact move to its new version, and those artifacts are released with it, as their own
    diff says. Without `tag` the versions are committed and not released; without `commit` they are only written.
    `signature` holds git's GIT_AUTHOR_* and GIT_COMMITTER_* variables where they should not come from the user's
    settings. Where evalstore.yaml asks for signed releases, they are signed without `sign`, too. `today` is the day by
    which acceptances end, and without one those that end at all do not hold. `watch` wraps the iteration over the files
    that are planned (a progress bar), `watch_writing` that over those that are written, and `watch_signing` that over
    the tags that are signed. Raises `RefusedError` and its like before anything is changed, and `ConflictError` when
    somebody else was faster.
    """
    _check_options(store, has_choice=bool(refs) != all_, without="" if commit else "sign" * sign or "push" * bool(push))
    check_prerelease_label(pre)
    chosen = choose_working_files(store, refs, all_=all_)
    options, is_signed = BumpOptions(level, pre, dependents), sign or is_signature_required(store.settings)
    watches = watch, watch_writing, watch_signing
    request = BumpRequest(chosen, options, message, tag and commit, is_signed, push, today, *watches)
    if not commit:
        return _release_without_commit(store, request, None, dry_run=dry_run)
    if dry_run:
        head = read_head(store.git)
        route = find_push_route(read_config(store.git), head.branch, remote_name=push)
        preview = _release_without_commit(store, request, head, dry_run=True)
        return replace(preview, push=plan_push(store, route, preview) if push else None)
    released, route, push_refs = release_under_lock(store, request, signature or {})
    # The push runs without the lock: a slow remote keeps nobody from releasing. `push_refs` were read under it.
    if not (route and released.push and push):
        return released
    return replace(released, push=push_release(store, route, released.push, push_refs))


def _check_options(store: ArtifactStore, *, has_choice: bool, without: str) -> None:
    """Refuse what cannot be released; `without` is what was asked for and needs a commit that is not to be made."""
    if not has_choice:
        raise UsageError("name the artifacts to release, or say --all", hint="evalstore status shows what changed")
    if without:
        raise UsageError(f"there is nothing to {without} without a commit", hint="remove --no-commit")
    if store.root is None:
        raise RefusedError("a bare repository has no working files to release", hint="run it in a clone")


def release_under_lock(
    store: ArtifactStore, request: BumpRequest, signature: Mapping[str, str]
) -> tuple[Released, PushRoute | None, Mapping[str, str]]:
    """Release what is asked for, under the lock of the repository; return also where to push, and what is there then.

    Raises `RefusedError` for a remote to push to that there is none of, before anything is released.
    """
    try:
        with lock_repository(store, signature) as repository:
            recovered = recover_interrupted(repository)
            config, head = read_config(repository.git), read_head(repository.git)
            route = find_push_route(config, head.branch, remote_name=request.push)
            hooks = find_bypassed_hooks(repository, config, push=bool(request.push))
            store.forget(head.commit)  # what was read before the lock may have been released or recovered since
            released = replace(_commit_release(store, repository, request, head, config), recovered=recovered)
            push = plan_push(store, route, released) if released.done or request.push else None
            push_refs = find_push_refs(repository.git, push) if push and request.push else {}
            # A branch without a commit has nothing to push.
            if request.push and not push_refs:
                push = None
            return replace(released, bypassed=hooks if released.done else (), push=push), route, push_refs
    except OSError as error:
        raise build_write_error(error) from None


def build_write_error(error: OSError) -> RefusedError:
    """Return the error of a release that the disk did not take."""
    reason = (error.strerror or str(error)).lower()
    return RefusedError(f"the release cannot be written: {reason}", hint=_RETRY_HINT)


def _release_without_commit(
    store: ArtifactStore, request: BumpRequest, head: Head | None, *, dry_run: bool
) -> Released:
    """Say what would be released on `head`; without one (`--no-commit`) the versions are written into the files."""
    plan = make_plan(store, request.refs, request.options, request.today, watch=request.watch)
    unreviewed: tuple[str, ...] = ()
    if head:
        checkout = find_checkout(store.git, head)
        # Nothing is kept of them: what a commit would be refused for is refused by the dry run, too.
        list(list_commit_files(store, plan.steps, checkout.tip, tagged=request.tag, signed=request.sign))
        unreviewed = _list_unreviewed(store, plan, checkout.tip)
    elif not dry_run:
        for step in plan.steps:
            _write_step_files(store, step)
    released = _list_released_versions(store, plan.steps, tagged=request.tag)
    return replace(
        plan.preview,
        released=released,
        committed=head is not None,
        dry_run=dry_run,
        unreviewed=unreviewed,
    )


def _write_step_files(store: ArtifactStore, step: ReleaseStep) -> None:
    root, rows = store.root, find_rows_path(step.artifact)
    if root and rows and step.moves:
        with open_below(root, rows) as file:
            write_below(root, rows, move_pins_in_rows(file, step.moves))
    if root and step.is_edited:
        write_below(root, step.path, step.content)


def _commit_release(
    store: ArtifactStore,
    repository: LockedRepository,
    request: BumpRequest,
    head: Head,
    config: Sequence[ConfigSetting],
) -> Released:
    plan = make_plan(store, request.refs, request.options, request.today, watch=request.watch)
    if not plan.steps:
        return Released((), plan.preview.unchanged, pinned=plan.preview.pinned)
    # Everything that can be refused is refused here, before the first object is written.
    checkout = find_checkout(repository.git, head)
    files = list(list_commit_files(store, plan.steps, checkout.tip, tagged=request.tag, signed=request.sign))
    repository = replace(repository, signature=complete_signature(config, repository.signature))
    message = format_commit_message(plan.steps, request.message, tagged=request.tag)
    tags = {f"{store.tag_prefix}{step.ref}": format_tag_message(step, request.message) for step in plan.steps}
    messages = ReleaseMessages(message, tags if request.tag else {}, request.sign, read_required_signers(store))
    draft = write_release_files(repository, store, checkout, files, messages)
    versions = _list_released_versions(store, plan.steps, tagged=request.tag)
    release = ReleaseContext(repository, versions, request.watch_writing, request.watch_signing)
    journal = publish_release(release, draft, checkout.tip)
    store.forget()
    return replace(
        plan.preview,
        released=journal.released,
        branch=checkout.name,
        signed=request.sign,
        unreviewed=_list_unreviewed(store, plan, journal.old),
    )


def _list_unreviewed(store: ArtifactStore, plan: BumpPlan, tip: str | None) -> tuple[str, ...]:
    uncommitted = find_uncommitted_acceptances(store, tip)
    return tuple(step.ref for step in plan.steps if (step.name, step.previous) in uncommitted)


def _list_released_versions(
    store: ArtifactStore, steps: Sequence[ReleaseStep], *, tagged: bool
) -> tuple[ReleasedVersion, ...]:
    return tuple(
        ReleasedVersion(
            step.ref,
            f"{store.tag_prefix}{step.ref}" if tagged else None,
            None,
            step.previous,
            step.bump,
            tuple(PinMove(old, new) for old, new in sorted(step.moves.items())),
        )
        for step in steps
    )
