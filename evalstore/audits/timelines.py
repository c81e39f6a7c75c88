"""Grades the outputs of both runs of an audit under the releases of what was edited between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalstore.audits.rulers import OutputGrader, grade_with_judges
from evalstore.audits.run_opening import open_stored_run
from evalstore.audits.score_history import ScoreHistory, resolve_releases, score_run
from evalstore.audits.values import Audit
from evalstore.audits.version_path import VersionFinder
from evalstore.errors import EvalstoreError
from evalstore.judging import Judges, JudgeSession
from evalstore.store import ArtifactStore

_MOST_ARTIFACTS, _MOST_RELEASES, _FEWEST_RELEASES = 6, 16, 2
_MOST_GRADINGS = 60_000  # of one output under one release, for all timelines of an audit


@dataclass(frozen=True, slots=True)
class Timelines:
    """The histories of what was edited, the most moving first, and notes on what is left out."""

    histories: tuple[ScoreHistory, ...]
    notes: tuple[str, ...] = ()


def build_timelines(audit: Audit, runs: Sequence[Path], store: ArtifactStore) -> Timelines:
    """Grade both runs under each release of every artifact with an edit; judges answer from kept replies only."""
    names, notes = [*_list_edited(audit)], list[str]()
    if len(names) > _MOST_ARTIFACTS:
        notes.append(f"{len(names) - _MOST_ARTIFACTS} more artifacts were edited, and have no timeline here")
        del names[_MOST_ARTIFACTS:]
    if not names:
        return Timelines(())
    outputs = (audit.a.questions + audit.b.questions) * len(names)
    most = min(_MOST_RELEASES, _MOST_GRADINGS // max(1, outputs))
    if most < _FEWEST_RELEASES:
        return Timelines((), (f"no timelines for so many outputs; evalstore history {names[0]} --run RUN makes one",))

    def attempt(finder: VersionFinder, session: JudgeSession) -> list[ScoreHistory]:
        graders = [OutputGrader(open_stored_run(run, finder, session), finder, session) for run in runs]
        found = []
        for name in names:
            try:
                releases, left_out = resolve_releases(store, name, most)
            except EvalstoreError as error:
                notes.append(f"{name} has no timeline: {error.message}")
                continue
            notes.extend(left_out)
            scored = tuple(score_run(run, grader, releases) for run, grader in zip(runs, graders, strict=True))
            found.append(ScoreHistory(name, tuple(release.summary for release in releases), scored, 0))
        return found

    histories, _ = grade_with_judges(store, Judges(), attempt)
    return Timelines(tuple(histories), tuple(notes))


def _list_edited(audit: Audit) -> Iterator[str]:
    """Yield the artifacts that edits belong to, those first whose edits moved most."""
    causes = sorted(
        (cause for factor in audit.factors for cause in factor.causes),
        key=lambda cause: (-abs(cause.share), -abs(cause.passes)),
    )
    # Edits that cannot be told apart may belong to several.
    yield from dict.fromkeys(
        name for cause in causes for name in (cause.source.origin.ref or "").split(" + ") if "/" in name
    )
