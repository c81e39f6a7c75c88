"""What the pages of a site show; the paths of pages are relative to its folder."""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.diff import Diff
from evalstore.runs import Run
from evalstore.status.release_log import ReleaseLog
from evalstore.store.listing import ArtifactSummary


@dataclass(frozen=True, slots=True)
class SiteStep:
    """A release against the one before it, and the path of the page that shows what changed."""

    old: str
    new: str
    path: str


@dataclass(frozen=True, slots=True)
class SiteArtifact:
    """One artifact: its releases (None: never released), what it refers to, what refers to it, and its file's text.

    Names are `<kind>/<id>`; `version` is that of the file, the working one or else the last release's.
    """

    summary: ArtifactSummary
    version: str
    log: ReleaseLog | None
    steps: tuple[SiteStep, ...]
    references: tuple[str, ...]
    users: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SiteRun:
    """A stored run, the path of its page, and the name by which people know it."""

    run: Run
    path: str
    name: str


@dataclass(frozen=True, slots=True)
class SiteAudit:
    """Two runs of one dataset that follow each other, and the path of their audit; `problem`: why there is none."""

    a: SiteRun
    b: SiteRun
    path: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SiteIndex:
    """The first page: all artifacts, runs and audits, and notes on what was left out."""

    title: str
    artifacts: tuple[ArtifactSummary, ...]
    runs: tuple[SiteRun, ...]
    audits: tuple[SiteAudit, ...]
    notes: tuple[str, ...] = ()


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
