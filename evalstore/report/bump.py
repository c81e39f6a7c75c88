"""Renders a bump as text and JSON: its releases, who still pins an older version, and the push."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.report.text_layout import LEVELS, PAPER, Part, Screen, format_columns, join_names
from evalstore.text import count_noun, make_printable
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.release.changes.values import (
        FollowedVersion,
        LoweredVersion,
        PinnedVersion,
        Push,
        Released,
    )
    from evalstore.release.transactions.journal import ReleasedVersion

_COMMIT_LENGTH = 12  # characters of a commit id
_LINES_PER_PIN = 4  # lines about one artifact that others pin


def text(result: Released, screen: Screen = PAPER) -> str:
    """Return the releases with their commit, the pins that stay behind, and what was pushed."""
    blocks = []
    if result.renumbered is not None:
        blocks += _describe_renumbered(result.renumbered)
    if result.recovered:
        blocks += _format_block("Finished an interrupted bump:", result.recovered, "pins", screen)
    if result.released:
        verb = "would pin" if result.dry_run else "now pins"
        heading = _format_heading(result)
        heading = heading if result.dry_run else screen.paint_verb(heading)
        blocks += _format_block(heading, result.released, verb, screen)
    elif result.renumbered:
        blocks.append("Nothing is left to release: theirs has the same content.")
    elif not result.recovered and result.renumbered is None:
        blocks.append(f"Nothing to release: {_describe_unchanged(result.unchanged)}")
    blocks += _format_pins_left_behind(result, screen)
    blocks += [
        _format_followers(version, screen, would=result.dry_run) for version in result.followers
    ]
    blocks += screen.shorten_list([_format_lowered(version) for version in result.lowered])
    if result.unreviewed:
        blocks.append(_describe_unreviewed(result.unreviewed))
    if result.bypassed:
        blocks.append(_describe_bypassed_hooks(result.bypassed))
    if result.push:
        blocks.append("\n".join(_format_push(result.push, screen, would=result.dry_run)))
    return "\n".join(blocks)


def _describe_renumbered(refs: Sequence[str]) -> list[str]:
    if not refs:
        return ["No unpushed release conflicts with the remote: nothing was changed."]
    names = join_names([f"{ref} of yours" for ref in refs])
    return [make_printable(f"Took theirs in and withdrew {names}, which nobody else had.")]


def _format_heading(result: Released) -> str:
    count = count_noun(len(result.released), "artifact")
    if result.dry_run:
        return f"Would release {count} from the working files (nothing was written):"
    if not result.committed:
        return f"Wrote the versions of {count}; nothing was committed:"
    commit = (result.released[0].commit or "")[:_COMMIT_LENGTH]
    verb = "Released" if result.released[0].tag else "Committed, without a tag,"
    signature = ", signed" if result.signed else ""
    branch = make_printable(result.branch or "")
    return f"{verb} {count} on {branch} in commit {commit}{signature}, from the working files:"


def _format_block(
    heading: str, releases: Sequence[ReleasedVersion], verb: str, screen: Screen
) -> list[str]:
    # What moves most stands first, and first releases, which move nothing, last.
    releases = sorted(releases, key=_rank_release, reverse=True)
    table = screen.paint_words(
        format_columns([_release_row(release) for release in releases]), LEVELS
    )
    lines = table.split("\n")
    rows: list[str] = []
    for line, release in zip(lines, releases, strict=True):
        rows.append("\n".join([line, *_format_moved_pins(release, verb, screen)]))
    return [heading, *screen.shorten_list(rows)]


def _rank_release(release: ReleasedVersion) -> int:
    return -1 if release.previous is None else release.bump.rank


def _format_moved_pins(release: ReleasedVersion, verb: str, screen: Screen) -> list[str]:
    return screen.shorten_list(
        [f"    {verb} {_describe_pin_move(*move)}" for move in release.moved]
    )


def _describe_pin_move(old: str, new: str) -> str:
    return make_printable(f"{new} instead of {old.partition('@')[2]}")


def _release_row(release: ReleasedVersion) -> tuple[str, ...]:
    name, _, version = release.ref.partition("@")
    step = f"{release.previous} -> {version}" if release.previous else version
    return (
        f"  {name}",
        step,
        str(release.bump) if release.previous else "first",
        f"tag {release.tag}" if release.tag else "",
    )


def _describe_unchanged(names: Sequence[str]) -> str:
    if not names:
        return "there is no artifact in the working tree"
    subject = f"{names[0]} is" if len(names) == 1 else f"all {len(names)} artifacts are"
    return f"{subject} unchanged since release"


def _format_pins_left_behind(result: Released, screen: Screen) -> list[str]:
    if result.followed or screen.can_hold(len(result.pinned) * _LINES_PER_PIN):
        return [
            _format_pinned_version(pin, screen, followed=result.followed) for pin in result.pinned
        ]
    users = sorted({name for pin in result.pinned for name in pin.by})
    sentence = (
        f"{count_noun(len(users), 'artifact')} {'pins' if len(users) == 1 else 'pin'} "
        f"{len(result.pinned):,} of these"
    )
    return [f"{sentence} at the version before:\n{_format_names(users, screen)}"]


def _format_pinned_version(pin: PinnedVersion, screen: Screen, *, followed: bool) -> str:
    kinds = Counter(name.partition("/")[0] for name in pin.by)
    verb = "pins" if len(pin.by) == 1 else "pin"
    subject = (
        f"{join_names(count_noun(number, kind) for kind, number in kinds.items())} {verb} "
        f"{make_printable(pin.ref)}"
    )
    if followed:
        next_ = (
            "still, and never released: name it to move it, too"
            if verb == "pins"
            else "still, and never released"
        )
        return f"{subject} {next_}\n{_format_names(pin.by, screen)}"
    return f"{subject}, the version before:\n{_format_names(pin.by, screen)}"


def _format_followers(version: FollowedVersion, screen: Screen, *, would: bool) -> str:
    kinds = Counter(name.partition("/")[0] for name in version.by)
    subject = join_names(count_noun(number, kind) for kind, number in kinds.items())
    verb = "means" if len(version.by) == 1 else "mean"
    if would:
        verb = "would mean"
    sentence = f"{subject} {verb} {version.ref} from now on, by a floating pin ({version.bump})"
    if version.bump is Bump.MAJOR:  # until then `status --check` exits with 1
        sentence += ": pin it there, or write the next major version there"
    return "\n".join([*screen.wrap(sentence), _format_names(version.by, screen)])


def _format_lowered(version: LoweredVersion) -> str:
    lines = (f"  {make_printable(line)}" for line in version.by)
    sentence = f"What let more through when {version.ref} was judged:"
    return "\n".join([sentence, *lines])


def _describe_unreviewed(refs: Sequence[str]) -> str:
    rest = "rests" if len(refs) == 1 else "rest"
    return (
        f"{', '.join(refs)} {rest} on .evalstore/accepted.yaml, which is not committed: review and "
        "commit it"
    )


def _describe_bypassed_hooks(hooks: Sequence[str]) -> str:
    noun = "hook" if len(hooks) == 1 else "hooks"
    return f"The {noun} {make_printable(join_names(hooks))} of this repository did not run."


def _format_push(push: Push, screen: Screen, *, would: bool) -> Iterator[str]:
    remote, content = make_printable(push.remote), _name_refs(push.branch, push.tags)
    if push.outcome == "pushed":
        sent = [tag for tag in push.tags if tag in push.sent]
        branch = push.branch if push.branch in push.sent else ""
        yield screen.paint_verb(f"Pushed {_name_refs(branch, sent)} to {remote}.")
    elif push.outcome == "up-to-date":
        yield f"{remote} has {content} already."
    elif push.outcome == "ready":
        yield f"Would push {content} to {remote}." if would else "Nothing was pushed."
    else:
        lead = screen.paint(Part.MAJOR, f"Not pushed to {remote}:")
        yield f"{lead} {make_printable(push.message or '')}. The release here is complete."
        yield f"  {make_printable(push.hint or '')}"
        yield from (f"  {line}" for line in screen.fold(make_printable(push.command), len("  ")))


def _name_refs(branch: str, tags: Sequence[str]) -> str:
    counted = count_noun(len(tags), "tag") if tags else ""
    return join_names(filter(None, (make_printable(branch), counted)))


def _format_names(names: Sequence[str], screen: Screen) -> str:
    return "\n".join(screen.wrap(", ".join(names), lead="  "))
