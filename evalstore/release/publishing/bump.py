"""Bump: releases working files at the versions that their changes need.

All are released in one commit, with its tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalstore.errors import RefusedError, UsageError
from evalstore.files import describe_error, open_below, write_below
from evalstore.model import find_rows_path
from evalstore.release.changes.acceptances import find_uncommitted_acceptances
from evalstore.release.changes.values import Released
from evalstore.release.changes.version_choice import check_prerelease_label
from evalstore.release.dependencies.pins import move_pins_in_rows
from evalstore.release.publishing.commit_files import list_commit_files
from evalstore.release.publishing.plan import BumpPlan, choose_working_files, make_plan
from evalstore.release.publishing.publish import (
    ReleaseContext,
    ReleaseMessages,
    format_commit_message,
    format_tag_message,
    publish_release,
    write_release_files,
)
from evalstore.release.publishing.push import (
    PushRoute,
    find_push_refs,
    find_push_route,
    plan_push,
    push_release,
)
from evalstore.release.publishing.step import BumpOptions, ReleaseStep
from evalstore.release.transactions.checkout import (
    complete_signature,
    find_bypassed_hooks,
    find_checkout,
)
from evalstore.release.transactions.locking import LockedRepository, lock_repository
from evalstore.release.transactions.recovery import recover_interrupted
from evalstore.store import ArtifactStore
from evalstore.store.repository.config import ConfigSetting, read_config
from evalstore.store.revisions import Head, read_head
from evalstore.store.signers import is_signature_required, read_required_signers

_RETRY_HINT = (
    "free some space or fix the permissions, then run the same bump again: it finishes this one"
)


def bump(store: ArtifactStore, options: BumpOptions) -> Released:
    """Release working files; unchanged ones are named and left alone.

    Raises `RefusedError` and the like before anything is changed, and `ConflictError` if somebody
    else was faster.
    """
    _check_options(store, options)
    choose_working_files(store, options)
    options = replace(
        options,
        tag=options.tag and options.commit,
        sign=options.sign or is_signature_required(store.settings),
    )
    if not options.commit:
        return _release_without_commit(store, options, None)
    if options.dry_run:
        head = read_head(store.git)
        route = find_push_route(read_config(store.git), head.branch, remote_name=options.push)
        preview = _release_without_commit(store, options, head)
        return replace(preview, push=plan_push(store, route, preview) if options.push else None)
    released, route, push_refs = release_under_lock(store, options)
    # The push runs without the lock: a slow remote keeps nobody from releasing. `push_refs` were
    # read under it.
    if not (route and released.push and options.push):
        return released
    return replace(released, push=push_release(store, route, released.push, push_refs))


def _check_options(store: ArtifactStore, options: BumpOptions) -> None:
    if bool(options.refs) == options.all_:
        raise UsageError(
            "name the artifacts to release, or say --all",
            hint="evalstore status shows what changed",
        )
    if not options.commit and (options.sign or options.push):
        what = "sign" if options.sign else "push"
        raise UsageError(f"there is nothing to {what} without a commit", hint="remove --no-commit")
    if store.root is None:
        raise RefusedError(
            "a bare repository has no working files to release", hint="run it in a clone"
        )
    check_prerelease_label(options.pre)


def release_under_lock(
    store: ArtifactStore, options: BumpOptions
) -> tuple[Released, PushRoute | None, Mapping[str, str]]:
    """Release what is requested, under the repository's lock.

    Returns what was released, where to push it, and which refs there are to push. Raises
    `RefusedError`, before anything is released, if the remote to push to does not exist.
    """
    try:
        with lock_repository(store, options.signature) as repository:
            recovered = recover_interrupted(repository)
            config, head = read_config(repository.git), read_head(repository.git)
            route = find_push_route(config, head.branch, remote_name=options.push)
            hooks = find_bypassed_hooks(repository, config, push=bool(options.push))
            # What was read before the lock may have been released or recovered since.
            store.forget(head.commit)
            released = replace(
                _commit_release(store, repository, options, head, config), recovered=recovered
            )
            push = plan_push(store, route, released) if released.done or options.push else None
            push_refs = find_push_refs(repository.git, push) if push and options.push else {}
            # A branch without a commit has nothing to push.
            if options.push and not push_refs:
                push = None
            return (
                replace(released, bypassed=hooks if released.done else (), push=push),
                route,
                push_refs,
            )
    except OSError as error:
        raise build_write_error(error) from None


def build_write_error(error: OSError) -> RefusedError:
    """Return the error for a release that could not be written to disk."""
    words = f"the release cannot be written: {describe_error(error)}"
    return RefusedError(words, hint=_RETRY_HINT)


def _release_without_commit(
    store: ArtifactStore, options: BumpOptions, head: Head | None
) -> Released:
    """Say what would be released on `head`.

    Without a head (`--no-commit`), the versions are written into the files.
    """
    plan = make_plan(store, options)
    unreviewed: tuple[str, ...] = ()
    if head:
        checkout = find_checkout(store.git, head)
        # Nothing of them is kept: what a commit would be refused for, the dry run refuses, too.
        list(
            list_commit_files(
                store, plan.steps, checkout.tip, tagged=options.tag, signed=options.sign
            )
        )
        unreviewed = _list_unreviewed(store, plan, checkout.tip)
    elif not options.dry_run:
        for step in plan.steps:
            _write_step_files(store, step)
    return replace(
        plan.preview, committed=head is not None, dry_run=options.dry_run, unreviewed=unreviewed
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
    options: BumpOptions,
    head: Head,
    config: Sequence[ConfigSetting],
) -> Released:
    plan = make_plan(store, options)
    if not plan.steps:
        return Released((), plan.preview.unchanged, pinned=plan.preview.pinned)
    # Everything that can be refused is refused here, before the first object is written.
    checkout = find_checkout(repository.git, head)
    files = list(
        list_commit_files(store, plan.steps, checkout.tip, tagged=options.tag, signed=options.sign)
    )
    repository = replace(repository, signature=complete_signature(config, repository.signature))
    message = format_commit_message(plan.steps, options.message, tagged=options.tag)
    tags: dict[str, str] = {}
    for step in plan.steps if options.tag else ():
        tags[f"{store.tag_prefix}{step.ref}"] = format_tag_message(step, options.message)
    messages = ReleaseMessages(message, tags, read_required_signers(store))
    draft = write_release_files(repository, store, checkout, files, messages)
    journal = publish_release(
        ReleaseContext(repository, plan.preview.released, options), draft, checkout.tip
    )
    store.forget()
    return replace(
        plan.preview,
        released=journal.released,
        branch=checkout.name,
        signed=options.sign,
        unreviewed=_list_unreviewed(store, plan, journal.old),
    )


def _list_unreviewed(store: ArtifactStore, plan: BumpPlan, tip: str | None) -> tuple[str, ...]:
    uncommitted = find_uncommitted_acceptances(store, tip)
    return tuple(step.ref for step in plan.steps if (step.name, step.previous) in uncommitted)
