"""Pushes a release, its branch and its tags, all or nothing.

It also says what to do if they do not arrive.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from evalstore.errors import EvalstoreError, GitError, Place, RefusedError
from evalstore.model import parse_ref
from evalstore.model.lock import LOCK_FILE
from evalstore.release.changes.values import Push, PushOutcome, Released
from evalstore.release.publishing.release_parts import Contradiction, find_contradiction
from evalstore.release.transactions.push_record import record_push
from evalstore.store import ArtifactStore, Release, remote
from evalstore.store.remote import PushAnswer, Remote
from evalstore.store.repository.config import ConfigSetting
from evalstore.store.repository.git import CommandError, Git
from evalstore.store.repository.index import has_staged_changes
from evalstore.store.revisions import BRANCH_REFS, REMOTE_REFS, find_new_commits, find_refs
from evalstore.store.tags import TAG_REFS, find_last_release
from evalstore.text import hide_url_secrets, make_excerpt

_TRIES = 4  # while somebody else pushes to the same place
_BUSY = ("transaction failed", "failed to update ref", "lock", "incorrect old value")

_THEN_PUSH = "when that is fixed:"

_AS_ANOTHER_VERSION = (
    "take theirs in and number yours anew: evalstore bump --again --push {remote}; or, once that "
    "tag is gone:"
)
_JOIN_BOTH = (
    "{first}git pull --no-rebase --tags {remote} {branch} joins both (a rebase would leave the "
    "tags behind); then:"
)
_AFTER_THEIRS = "theirs released {met}, too: evalstore bump --again --push {remote}; or "
_UNSTAGE = "git stash, because git merges only without staged changes; "
_LET_GIT_ASK = (
    "evalstore asks only your global git config for passwords and keys; git itself also asks this "
    "repository's:"
)

_NOT_ATOMIC = "it cannot update a branch and tags together"

# What a remote says about a ref that it refuses -> what has happened, and what to do before the
# same push. The first row that fits any ref counts: with both a moved branch and a taken tag,
# another version is needed first.
_REJECTIONS = (
    ("already exists", "{ref} already exists there, with other content", _AS_ANOTHER_VERSION),
    ("fetch first", "{branch} has new commits there", _JOIN_BOTH),
    ("non-fast-forward", "{branch} has new commits there", _JOIN_BOTH),
    ("hook declined", "a hook there rejected {ref}{reason}", _THEN_PUSH),
    (
        "checked out",
        "{branch} is checked out there",
        "push to a bare repository, or there: git switch --detach; then:",
    ),
    ("", "{ref} was rejected there: {words}{reason}", _THEN_PUSH),
)
# What git says if no ref got an answer -> what has happened, and what to do.
_FAILURES = (
    (
        "support --atomic",
        _NOT_ATOMIC,
        "the branch may arrive without its tags, with:",
    ),
    (
        "' not allowed",
        "evalstore pushes only over https and ssh and to folders",
        "git itself may be able to:",
    ),
    ("Permission denied", "it denied you access", _LET_GIT_ASK),
    ("Authentication failed", "it denied you access", _LET_GIT_ASK),
    ("could not read", "it asks for a name or a password", _LET_GIT_ASK),
    ("Timeout:", "it did not answer", "see what arrived: git ls-remote {remote}; then:"),
    ("", "it cannot be reached: {reason}", "check its address: git remote -v; then:"),
)


class PushRoute(NamedTuple):
    """The branch to push, and the remote to push to."""

    branch: str
    to: Remote


def find_push_route(
    config: Sequence[ConfigSetting], branch: str | None, *, remote_name: bool | str
) -> PushRoute | None:
    """Return the route of a branch to the remote of this name, or to its own.

    True means its own remote; False means that one, too, but only if there is one. Raises
    `RefusedError` for a remote that does not exist or has several addresses, and on a detached
    HEAD.
    """
    remotes = remote.list_remotes(config)
    to = (
        remotes.by_name.get(remote_name)
        if isinstance(remote_name, str)
        else remotes.find_for_branch(branch or "")
    )
    if not remote_name:
        return PushRoute(branch, to) if branch and to else None
    if branch is None:
        raise RefusedError(
            "HEAD is detached, so there is no branch to push",
            hint="git switch to a branch, then run the bump again",
        )
    if to is None:
        known = (
            f"there is {', '.join(sorted(remotes.by_name))}"
            if remotes.by_name
            else "git remote add origin <url>"
        )
        name = (
            f"remote named {remote_name!r}" if isinstance(remote_name, str) else "remote to push to"
        )
        raise RefusedError(f"there is no {name}", hint=known)
    if len(to.urls) > 1:
        message = f"{to.name} has {len(to.urls)} addresses, and a push to several is not atomic"
        raise RefusedError(message, hint="name a remote with one")
    return PushRoute(branch, to)


def plan_push(store: ArtifactStore, route: PushRoute | None, released: Released) -> Push | None:
    """Return the push of the tags made, and of all other releases that the branch brings along.

    A ledger line that arrives without its tag would block everybody who fetches it.
    """
    if route is None:
        return None
    new_tags = [version.tag for version in released.done if version.tag]
    # Nothing released: the bump is repeated for its push, and the current releases of what it names
    # are pushed again.
    unchanged = () if released.done else released.unchanged
    current = (_find_current_release(store, name) for name in unchanged)
    commits = {release.commit for release in current if release} | find_unpushed_commits(
        store.git, route
    )
    others = (release.tag for release in store.releases() if release.commit in commits)
    return Push(
        route.to.name, route.branch, tuple(dict.fromkeys([*new_tags, *others])), PushOutcome.READY
    )


def find_unpushed_commits(git: Git, route: PushRoute) -> set[str]:
    """Return the branch's commits that the remote did not have when it was last seen."""
    branch, seen = BRANCH_REFS + route.branch, f"{REMOTE_REFS}{route.to.name}/{route.branch}"
    refs = find_refs(git, [branch, seen])
    if branch not in refs:
        return set()
    return find_new_commits(git, refs[branch], refs.get(seen))


def find_push_refs(git: Git, push: Push) -> Mapping[str, str]:
    """Return the refs of a push, by full name, and the objects that they point at now."""
    return find_refs(git, [BRANCH_REFS + push.branch, *(TAG_REFS + tag for tag in push.tags)])


def push_release(
    store: ArtifactStore, route: PushRoute, push: Push, refs: Mapping[str, str]
) -> Push:
    """Push `refs`, and return the push with its outcome.

    It is tried again while another push to the same remote is in progress. The tags of all ledger
    lines that the remote lacks go along: after a plain `git push` or a squash merge their commits
    are already there. What the store itself contradicts is not pushed. Never raises for a push that
    fails: what was released here stays released.
    """
    push, refs, there = _add_missing_tags(store, route, push, refs)
    if denied := _find_denied(store, push, refs):
        return denied
    for tries_left in reversed(range(_TRIES)):
        try:
            answers = remote.push_refs(store.git, store.repository, route.to, refs)
        except CommandError as failure:
            now = find_push_refs(store.git, push)
            if not tries_left or not _is_worth_retry(failure, moved=now != refs):
                return _explain_push_failure(push, failure, _describe_joining(store, push, there))
            refs = now
            time.sleep(0.5)
            continue
        except (GitError, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            message = f"the push failed: {make_excerpt(reason.lower())}"
            return replace(push, outcome=PushOutcome.FAILED, message=message, hint=_THEN_PUSH)
        record_push(store, route.to, refs)
        sent = tuple(_shorten_ref(answer.ref) for answer in answers if answer.flag != "=")
        outcome = PushOutcome.PUSHED if sent else PushOutcome.UP_TO_DATE
        return replace(push, outcome=outcome, sent=sent)
    return push


def _find_denied(store: ArtifactStore, push: Push, refs: Mapping[str, str]) -> Push | None:
    """Return a push as rejected if the store contradicts what it releases.

    Pushed, it would fail every gate.
    """
    names = dict.fromkeys(
        tag.removeprefix(store.tag_prefix).rpartition("@")[0] for tag in push.tags
    )
    try:
        denial = find_contradiction(store, refs[BRANCH_REFS + push.branch], names)
    except EvalstoreError as error:
        denial = Contradiction(
            error.place or Place(LOCK_FILE), error.message, f"{error.hint or 'mend it'}; then:"
        )
    if denial is None:
        return None
    message = f"{denial.place}: {denial.what}"
    return replace(push, outcome=PushOutcome.REJECTED, message=message, hint=denial.hint)


def _add_missing_tags(
    store: ArtifactStore, route: PushRoute, push: Push, refs: Mapping[str, str]
) -> tuple[Push, Mapping[str, str], Mapping[str, str]]:
    """Return the push with the tags that the remote lacks.

    Its refs, and the tags that the remote has, are returned with it.
    """
    try:
        there = remote.list_remote_tags(store.git, store.repository, route.to)
    except (GitError, OSError):  # the push itself says why there is no answer
        return push, refs, {}
    lacking = [
        tag for tag in store.list_recorded_tags() if tag not in there and tag not in push.tags
    ]
    found = find_refs(store.git, [TAG_REFS + tag for tag in lacking]) if lacking else {}
    tags = tuple(name.removeprefix(TAG_REFS) for name in found)
    return replace(push, tags=(*push.tags, *tags)), {**refs, **found}, there


def _describe_joining(store: ArtifactStore, push: Push, there: Mapping[str, str]) -> str:
    """Say what must come before a pull.

    That is the remote's other releases of what is pushed, and staged changes here.
    """
    here = find_refs(store.git, [TAG_REFS + tag for tag in there]) if there else {}
    pushed = {tag.rpartition("@")[0] for tag in push.tags if tag not in there}
    unknown = (tag.rpartition("@")[0] for tag in there if TAG_REFS + tag not in here)
    met = next((name.removeprefix(store.tag_prefix) for name in unknown if name in pushed), None)
    again = _AFTER_THEIRS.format(met=met, remote=shlex.quote(push.remote)) if met else ""
    return again + (_UNSTAGE if has_staged_changes(store.git) else "")


def _is_worth_retry(failure: CommandError, *, moved: bool) -> bool:
    # Another bump of this repository has pushed a commit on top of ours, or is doing so right now.
    messages = " ".join(
        answer.message for answer in remote.parse_push_answers(failure.stdout) if answer.flag == "!"
    )
    return ("non-fast-forward" in messages and moved) or any(word in messages for word in _BUSY)


def _find_current_release(store: ArtifactStore, name: str) -> Release | None:
    ref = parse_ref(name)
    releases = store.releases(ref.kind, ref.id)
    version = store.read_artifact(ref.with_pin("worktree")).version
    same = (release for release in releases if str(release.version) == version)
    return next(same, None) or find_last_release(releases)


def _explain_push_failure(push: Push, failure: CommandError, first: str) -> Push:
    answers = remote.parse_push_answers(failure.stdout)
    refused = [answer for answer in answers if answer.flag == "!"]
    reason = _find_remote_words(failure.stderr, refused)
    facts = {"remote": push.remote, "branch": push.branch, "reason": reason, "first": first}
    if refused:
        return _explain_rejection(push, refused, facts)
    _, message, hint = next(row for row in _FAILURES if row[0] in failure.stderr)
    return _fill_message(push, PushOutcome.FAILED, (message, hint), facts)


def _explain_rejection(push: Push, refused: Sequence[PushAnswer], facts: Mapping[str, str]) -> Push:
    # An atomic push is refused as a whole: the refs with a different reason are the cause.
    causes = [answer for answer in refused if "atomic" not in answer.message] or refused
    (words, message, hint), first = next(
        (row, answer) for row, answer in product(_REJECTIONS, causes) if row[0] in answer.message
    )
    tags = " ".join(_shorten_ref(answer.ref) for answer in causes if words in answer.message)
    more = {"ref": _shorten_ref(first.ref), "words": make_excerpt(first.message), "tags": tags}
    return _fill_message(push, PushOutcome.REJECTED, (message, hint), {**facts, **more})


def _shorten_ref(ref: str) -> str:
    return ref.removeprefix(BRANCH_REFS).removeprefix(TAG_REFS)


def _fill_message(
    push: Push, outcome: PushOutcome, words: tuple[str, str], facts: Mapping[str, str]
) -> Push:
    message = words[0].format(**facts)
    quoted = {
        **facts,
        "remote": shlex.quote(facts["remote"]),
        "branch": shlex.quote(facts["branch"]),
    }
    hint = words[1].format(**quoted)
    atomic = words[0] != _NOT_ATOMIC  # then the next push is told to do without
    return replace(push, outcome=outcome, message=message, hint=hint, atomic=atomic)


def _find_remote_words(stderr: str, refused: Sequence[PushAnswer]) -> str:
    """Return the last line of the remote's hook, or git's own last sentence.

    Secrets in addresses are hidden.
    """
    lines = [hide_url_secrets(line.strip()) for line in stderr.splitlines() if line.strip()]
    remote_lines = [
        line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")
    ]
    remote_lines = [line for line in remote_lines if line and not line.startswith("error: hook")]
    if refused:
        return f": {make_excerpt(remote_lines[-1])}" if remote_lines else ""
    git_lines = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
    return make_excerpt((git_lines or remote_lines or lines or ["git gave no reason"])[0])
