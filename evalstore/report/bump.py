"""What a bump released, who still pins what was there before, and where it was pushed, as text and JSON."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from evalstore.report.columns import columns
from evalstore.report.screen import PAPER, Screen
from evalstore.report.words import counted, listed, wrapped
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.release import PinnedVersion, Push, Released, ReleasedVersion

_SHORT = 12  # characters of a commit id
_PINS = 4  # as much of a page as one artifact that others pin takes


def text(released: Released, screen: Screen = PAPER) -> str:
    """Return what was released, in which commit, what stayed as it was, and what there is to do next."""
    blocks = []
    if released.recovered:
        blocks += _block("Finished an interrupted bump:", released.recovered, "pins", screen)
    if released.released:
        verb = "would pin" if released.dry_run else "now pins"
        blocks += _block(_heading(released), released.released, verb, screen)
    elif not released.recovered:
        blocks.append(f"Nothing to release: {_unchanged(released.unchanged)}")
    blocks += _left_behind(released, screen)
    if released.unreviewed:
        blocks.append(_unreviewed(released.unreviewed))
    if released.bypassed:
        blocks.append(_bypassed(released.bypassed))
    if released.push:
        blocks.append("\n".join(_push(released.push, would=released.dry_run)))
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


def _heading(released: Released) -> str:
    count = counted(len(released.released), "artifact")
    if released.dry_run:
        return f"Would release {count}, as the working files stand (nothing was written):"
    if not released.committed:
        return f"Wrote the versions of {count}; nothing was committed:"
    commit = (released.released[0].commit or "")[:_SHORT]
    what = "Released" if released.released[0].tag else "Committed, without a tag,"
    signed = ", signed" if released.signed else ""
    return (
        f"{what} {count} on {make_printable(released.branch or '')} in commit {commit}{signed}, as the working files stood:"
    )


def _block(heading: str, released: Sequence[ReleasedVersion], verb: str, screen: Screen) -> list[str]:
    lines = columns([_row(one) for one in released]).split("\n")
    moved = ("".join(f"\n{line}" for line in _pins(one, verb, screen)) for one in released)
    return [heading, *screen.first([line + below for line, below in zip(lines, moved, strict=True)])]


def _pins(one: ReleasedVersion, verb: str, screen: Screen) -> list[str]:
    return screen.first([f"    {verb} {_instead(*move)}" for move in one.moved])


def _instead(old: str, new: str) -> str:
    return make_printable(f"{new} instead of {old.partition('@')[2]}")


def _row(one: ReleasedVersion) -> tuple[str, ...]:
    name, _, version = one.ref.partition("@")
    step = f"{one.previous} -> {version}" if one.previous else version
    return (f"  {name}", step, str(one.bump) if one.previous else "first", f"tag {one.tag}" if one.tag else "")


def _unchanged(names: Sequence[str]) -> str:
    if not names:
        return "there is no artifact in the working tree"
    shown = f"{names[0]} is" if len(names) == 1 else f"all {len(names)} artifacts are"
    return f"{shown} as last released"


def _left_behind(released: Released, screen: Screen) -> list[str]:
    if released.followed or screen.holds(len(released.pinned) * _PINS):
        return [_pinned(one, followed=released.followed) for one in released.pinned]
    by = sorted({name for one in released.pinned for name in one.by})
    these = f"{counted(len(by), 'artifact')} {'pins' if len(by) == 1 else 'pin'} {len(released.pinned):,} of these"
    return [f"{these} at the version before: evalstore bump --all --dependents\n{_listed(by)}"]


def _pinned(pinned: PinnedVersion, *, followed: bool) -> str:
    kinds = Counter(name.partition("/")[0] for name in pinned.by)
    verb = "pins" if len(pinned.by) == 1 else "pin"
    who = f"{listed(counted(number, kind) for kind, number in kinds.items())} {verb} {make_printable(pinned.ref)}"
    if followed:
        next_ = "still, and never released: name it to move it, too" if verb == "pins" else "still, and never released"
        return f"{who} {next_}\n{_listed(pinned.by)}"
    return f"{who}: evalstore bump {pinned.ref.partition('@')[0]} --dependents\n{_listed(pinned.by)}"


def _unreviewed(refs: Sequence[str]) -> str:
    rest = "rests" if len(refs) == 1 else "rest"
    return f"{', '.join(refs)} {rest} on .evalstore/accepted.yaml, which is not committed: review and commit it"


def _bypassed(hooks: Sequence[str]) -> str:
    return f"The {'hook' if len(hooks) == 1 else 'hooks'} {make_printable(listed(hooks))} of this repository did not run."


def _push(push: Push, *, would: bool) -> Iterator[str]:
    tags = f" and {counted(len(push.tags), 'tag')}" if push.tags else ""
    what, remote = make_printable(push.branch) + tags, make_printable(push.remote)
    if push.outcome == "pushed":
        yield f"Pushed {what} to {remote}."
    elif push.outcome == "up-to-date":
        yield f"{remote} has {what} already."
    elif push.outcome == "ready":
        yield f"Would push {what} to {remote}:" if would else "Nothing was pushed; to push it:"
        yield _command(push.command)
    else:
        yield f"Not pushed to {remote}: {make_printable(push.message or '')}. What was released here stands."
        yield f"  {make_printable(push.hint or '')}"
        yield _command(push.command)


def _command(command: str) -> str:
    """Return a command that fits the page, to be pasted as it is."""
    lines = [""]
    for word in map(shlex.quote, shlex.split(make_printable(command))):
        if lines[-1] and len(lines[-1]) + len(word) + 6 > PAPER.width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return " \\\n    ".join([f"  {lines[0]}", *lines[1:]])


def _listed(names: Sequence[str]) -> str:
    return "\n".join(wrapped(", ".join(names), lead="  ", inner="  "))
