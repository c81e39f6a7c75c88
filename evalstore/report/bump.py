"""What a bump released, as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalstore.report.columns import columns
from evalstore.text import printable

if TYPE_CHECKING:
    from evalstore.release import Bumped, Released

_SHORT = 12  # characters of a commit id


def text(released: Released) -> str:
    """Return what was released, in which commit, and what stayed as it was."""
    blocks = []
    if released.recovered:
        blocks.append(_block("Finished an interrupted bump:", released.recovered))
    if released.released:
        blocks.append(_block(_heading(released), released.released))
    elif not released.recovered:
        blocks.append(f"Nothing to release: {_unchanged(released.unchanged)}")
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
            }
            for one in (*released.recovered, *released.released)
        ],
        "unchanged": list(released.unchanged),
        "dry_run": released.dry_run,
    }


def _heading(released: Released) -> str:
    count = f"{len(released.released)} artifact{'' if len(released.released) == 1 else 's'}"
    if released.dry_run:
        return f"Would release {count}, as the working files stand (nothing was written):"
    if not released.committed:
        return f"Wrote the versions of {count}; nothing was committed:"
    commit = (released.released[0].commit or "")[:_SHORT]
    what = "Released" if released.released[0].tag else "Committed, without a tag,"
    return f"{what} {count} on {printable(released.branch or '')} in commit {commit}, as the working files stood:"


def _block(heading: str, released: Sequence[Bumped]) -> str:
    return f"{heading}\n{columns([_row(one) for one in released])}"


def _row(one: Bumped) -> tuple[str, ...]:
    name, _, version = one.ref.partition("@")
    step = f"{one.previous} -> {version}" if one.previous else version
    return (f"  {name}", step, str(one.bump) if one.previous else "first", f"tag {one.tag}" if one.tag else "")


def _unchanged(names: Sequence[str]) -> str:
    if not names:
        return "there is no artifact in the working tree"
    shown = f"{names[0]} is" if len(names) == 1 else f"all {len(names)} artifacts are"
    return f"{shown} as last released"
