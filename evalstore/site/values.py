"""What the pages of a site show, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from evalstore.diff import Diff
from evalstore.release.history.release_log import ReleaseLog, ReleaseLogEntry
from evalstore.runs import Run
from evalstore.store.listing import ArtifactSummary
from evalstore.versions import Bump


@dataclass(frozen=True, slots=True)
class SiteStep:
    """A release against the previous one, and the path of the page that shows what changed."""

    old: str
    new: str
    path: str


@dataclass(frozen=True, slots=True)
class SiteArtifact:
    """One artifact: its releases, references in both directions, and its text.

    `log` is None for an artifact that was never released. Names are `<kind>/<id>`; `version` and
    `title` are those in the working file, or else in the last release.
    """

    summary: ArtifactSummary
    title: str
    version: str
    log: ReleaseLog | None
    steps: tuple[SiteStep, ...]
    references: tuple[str, ...]
    users: tuple[str, ...]
    text: str


class SiteRelease(NamedTuple):
    """A release in the words of its tag and of the log: version, date, releaser and level."""

    version: str
    date: str
    author: str
    level: str


@dataclass(frozen=True, slots=True)
class SiteEntry:
    """An artifact on the first page: its title, and its releases, newest first."""

    summary: ArtifactSummary
    title: str
    releases: tuple[SiteRelease, ...]


def summarize_artifact(page: SiteArtifact) -> SiteEntry:
    """Return what the first page says about an artifact."""
    entries = page.log.releases if page.log else ()
    return SiteEntry(page.summary, page.title, tuple(map(_summarize_release, entries)))


def _summarize_release(entry: ReleaseLogEntry) -> SiteRelease:
    level = "first" if entry.before is None else str(entry.required or Bump.NONE)
    return SiteRelease(str(entry.logged.version), entry.logged.date, entry.logged.author, level)


@dataclass(frozen=True, slots=True)
class SiteRun:
    """A stored run, the path of its page, and its name for people."""

    run: Run
    path: str
    name: str


@dataclass(frozen=True, slots=True)
class SiteAudit:
    """Two successive runs on one dataset, and the path of their audit.

    `problem` says why there is none. `sentence` and `answer` are those of the audit.
    """

    a: SiteRun
    b: SiteRun
    path: str
    problem: str = ""
    sentence: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True, order=True)
class SiteReference:
    """A line in the picture of references, between names (`<kind>/<id>`).

    `scores` says whether scores depend on the reference.
    """

    user: str
    used: str
    scores: bool = True


@dataclass(frozen=True, slots=True)
class SiteGraph:
    """The picture of references: a layer of names for each kind, in order.

    `notes` say what was left out.
    """

    title: str
    layers: tuple[tuple[str, ...], ...]
    references: tuple[SiteReference, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteIndex:
    """The first page: all artifacts, runs and audits, and notes on what was left out.

    `graph` is the path of the picture of references, empty if there are none.
    """

    title: str
    artifacts: tuple[SiteEntry, ...]
    runs: tuple[SiteRun, ...]
    audits: tuple[SiteAudit, ...]
    notes: tuple[str, ...] = ()
    graph: str = ""


@dataclass(frozen=True, slots=True)
class WrittenSite:
    """What `evalstore site` wrote: the folder, how many pages, and notes on what was left out."""

    folder: str
    pages: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepDiff:
    """One step of an artifact, compared."""

    step: SiteStep
    diff: Diff
