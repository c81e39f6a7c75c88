"""What a bump released, who still pins what was there before, and where it was pushed, as text and JSON."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from evalstore.report.screen import PAPER, Screen
from evalstore.report.text_layout import count_noun, format_columns, join_names, wrap_lines
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.release import PinnedVersion, Push, Released, ReleasedVersion

_COMMIT_LENGTH = 12  # characters of a commit id
_LINES_PER_PIN = 4  # as much of a page as one artifact that others pin takes


def text(released: Released, screen: Screen = PAPER) -> str:
    """Return what was released, in which commit, what stayed as it was, and what there is to do next."""
    blocks = []
    if released.recovered:
        blocks += _format_block("Finished an interrupted bump:", released.recovered, "pins", screen)
    if released.released:
        verb = "would pin" if released.dry_run else "now pins"
        blocks += _format_block(_format_heading(released), released.released, verb, screen)
    elif not released.recovered:
        blocks.append(f"Nothing to release: {_describe_unchanged(released.unchanged)}")
    blocks += _format_pins_left_behind(released, screen)
    if released.unreviewed:
        blocks.append(_describe_unreviewed(released.unreviewed))
    if released.bypassed:
        blocks.append(_describe_bypassed_hooks(released.bypassed))
    if released.push:
        blocks.append("\n".join(_format_push(released.push, would=released.dry_run)))
    return "\n".join(blocks)


def document(released: Released) -> Any:
    """Return the JSON document; what an interrupted bump had begun counts as released."""
    return {
        "released": [
            {
                "ref": one.ref,
                "tag": one.tag,
                "commit": one.commit,
                "previous": one.previous,
                "bump": str(one.bump),
                "moved": [{"from": move.old, "to": move.new} for move in one.moved],
            }
            for one in released.done
        ],
        "unchanged": list(released.unchanged),
        "pinned": [{"ref": one.ref, "by": list(one.by)} for one in released.pinned],
        "dry_run": released.dry_run,
        "branch": released.branch,
        "signed": released.signed,
        "unreviewed": list(released.unreviewed),
        "bypassed": list(released.bypassed),
        "push": _push_document(released.push) if released.push else None,
    }


def _push_document(push: Push) -> dict[str, Any]:
    return {
        "remote": push.remote,
        "branch": push.branch,
        "tags": list(push.tags),
        "outcome": str(push.outcome),
        "message": push.message,
        "hint": push.hint,
        "command": push.command,
    }


def _format_heading(released: Released) -> str:
    count = count_noun(len(released.released), "artifact")
    if released.dry_run:
        return f"Would release {count}, as the working files stand (nothing was written):"
    if not released.committed:
        return f"Wrote the versions of {count}; nothing was committed:"
    commit = (released.released[0].commit or "")[:_COMMIT_LENGTH]
    what = "Released" if released.released[0].tag else "Committed, without a tag,"
    signed = ", signed" if released.signed else ""
    return f"{what} {count} on {make_printable(released.branch or '')} in commit {commit}{signed}, as the working files stood:"


def _format_block(heading: str, released: Sequence[ReleasedVersion], verb: str, screen: Screen) -> list[str]:
    lines = format_columns([_release_row(one) for one in released]).split("\n")
    moved = ("".join(f"\n{line}" for line in _format_moved_pins(one, verb, screen)) for one in released)
    return [heading, *screen.shorten_list([line + below for line, below in zip(lines, moved, strict=True)])]


def _format_moved_pins(one: ReleasedVersion, verb: str, screen: Screen) -> list[str]:
    return screen.shorten_list([f"    {verb} {_describe_pin_move(*move)}" for move in one.moved])


def _describe_pin_move(old: str, new: str) -> str:
    return make_printable(f"{new} instead of {old.partition('@')[2]}")


def _release_row(one: ReleasedVersion) -> tuple[str, ...]:
    name, _, version = one.ref.partition("@")
    step = f"{one.previous} -> {version}" if one.previous else version
    return (f"  {name}", step, str(one.bump) if one.previous else "first", f"tag {one.tag}" if one.tag else "")


def _describe_unchanged(names: Sequence[str]) -> str:
    if not names:
        return "there is no artifact in the working tree"
    subject = f"{names[0]} is" if len(names) == 1 else f"all {len(names)} artifacts are"
    return f"{subject} as last released"


def _format_pins_left_behind(released: Released, screen: Screen) -> list[str]:
    if released.followed or screen.can_hold(len(released.pinned) * _LINES_PER_PIN):
        return [_format_pinned_version(one, followed=released.followed) for one in released.pinned]
    by = sorted({name for one in released.pinned for name in one.by})
    these = f"{count_noun(len(by), 'artifact')} {'pins' if len(by) == 1 else 'pin'} {len(released.pinned):,} of these"
    return [f"{these} at the version before: evalstore bump --all --dependents\n{_format_names(by)}"]


def _format_pinned_version(pinned: PinnedVersion, *, followed: bool) -> str:
    kinds = Counter(name.partition("/")[0] for name in pinned.by)
    verb = "pins" if len(pinned.by) == 1 else "pin"
    who = (
        f"{join_names(count_noun(number, kind) for kind, number in kinds.items())} {verb} {make_printable(pinned.ref)}"
    )
    if followed:
        next_ = "still, and never released: name it to move it, too" if verb == "pins" else "still, and never released"
        return f"{who} {next_}\n{_format_names(pinned.by)}"
    return f"{who}: evalstore bump {pinned.ref.partition('@')[0]} --dependents\n{_format_names(pinned.by)}"


def _describe_unreviewed(refs: Sequence[str]) -> str:
    rest = "rests" if len(refs) == 1 else "rest"
    return f"{', '.join(refs)} {rest} on .evalstore/accepted.yaml, which is not committed: review and commit it"


def _describe_bypassed_hooks(hooks: Sequence[str]) -> str:
    return f"The {'hook' if len(hooks) == 1 else 'hooks'} {make_printable(join_names(hooks))} of this repository did not run."


def _format_push(push: Push, *, would: bool) -> Iterator[str]:
    tags = f" and {count_noun(len(push.tags), 'tag')}" if push.tags else ""
    what, remote = make_printable(push.branch) + tags, make_printable(push.remote)
    if push.outcome == "pushed":
        yield f"Pushed {what} to {remote}."
    elif push.outcome == "up-to-date":
        yield f"{remote} has {what} already."
    elif push.outcome == "ready":
        yield f"Would push {what} to {remote}:" if would else "Nothing was pushed; to push it:"
        yield _fold_command(push.command)
    else:
        yield f"Not pushed to {remote}: {make_printable(push.message or '')}. What was released here stands."
        yield f"  {make_printable(push.hint or '')}"
        yield _fold_command(push.command)


def _fold_command(command: str) -> str:
    """Return a command that fits the page, to be pasted as it is."""
    lines = [""]
    for word in map(shlex.quote, shlex.split(make_printable(command))):
        if lines[-1] and len(lines[-1]) + len(word) + 6 > PAPER.width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return " \\\n    ".join([f"  {lines[0]}", *lines[1:]])


def _format_names(names: Sequence[str]) -> str:
    return "\n".join(wrap_lines(", ".join(names), lead="  ", inner="  "))
