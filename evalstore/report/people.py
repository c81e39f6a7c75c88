"""Says who made an edit: author, commit and day, the release that brought it and who made that; co-authors too."""

from __future__ import annotations

from evalstore.audits import Origin
from evalstore.report.text_layout import join_names

_COMMIT, _DAY = 7, 10  # characters of a commit's id, and of an ISO date


def describe_origin(origin: Origin) -> str:
    """Return `Bob 7100681 2026-09-12, released in 2.0.0 by Releasebot`; "" where nothing is known.

    A releaser who is the author as well is named once.
    """
    releaser = f" by {origin.released_by}" if origin.released_by != origin.author else ""
    release = f"released in {origin.released_in}{releaser}" if origin.released_in else ""
    if origin.commit is None:
        return "; ".join(part for part in (release, origin.gap) if part)
    people = join_names([str(origin.author), *origin.co_authors])
    commit = f"{people} {origin.commit[:_COMMIT]} {(origin.date or '')[:_DAY]}"
    return f"{'without ' if origin.undoes else ''}{commit}, {release or 'not released'}"
