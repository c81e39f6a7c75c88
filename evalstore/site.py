"""Reads from a store what the pages of its site show, one page after the other; writes nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from evalstore.audits import Audit, audit
from evalstore.audits.wording import write_answer
from evalstore.diff import Diff
from evalstore.errors import EvalstoreError
from evalstore.model import Kind, parse_ref
from evalstore.release.reference_graph import ReferenceGraph, build_working_graph
from evalstore.release.release_log import ReleaseLog, read_release_log
from evalstore.runs import Run
from evalstore.runs.run_search import find_run_time, iterate_runs
from evalstore.store import ArtifactStore
from evalstore.store.listing import ArtifactSummary, list_artifacts, read_artifact_file
from evalstore.versions import Bump


@dataclass(frozen=True, slots=True)
class SiteStep:
    """A release against the one before it, and the path of the page that shows what changed."""

    old: str
    new: str
    path: str


@dataclass(frozen=True, slots=True)
class SiteArtifact:
    """One artifact: its releases (None: never released), what it refers to, what refers to it, and its file's text.

    Names are `<kind>/<id>`; `version` and `title` are those of the file, the working one or else the last release's.
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
    """A release in the words of its tag and of the log: the version, the date, who released it, and the level."""

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
    """Return what the first page says of an artifact."""
    releases = (
        SiteRelease(
            str(entry.logged.version),
            entry.logged.date,
            entry.logged.author,
            "first" if entry.before is None else str(entry.required or Bump.NONE),
        )
        for entry in (page.log.releases if page.log else ())
    )
    return SiteEntry(page.summary, page.title, tuple(releases))


@dataclass(frozen=True, slots=True)
class SiteRun:
    """A stored run, the path of its page, and the name by which people know it."""

    run: Run
    path: str
    name: str


@dataclass(frozen=True, slots=True)
class SiteAudit:
    """Two runs of one dataset that follow each other, and the path of their audit; `problem`: why there is none.

    `sentence` and `answer` are those of the audit.
    """

    a: SiteRun
    b: SiteRun
    path: str
    problem: str = ""
    sentence: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True, order=True)
class SiteReference:
    """A line of the picture of references, between names (`<kind>/<id>`); `scores`: whether a score goes through it."""

    user: str
    used: str
    scores: bool = True


@dataclass(frozen=True, slots=True)
class SiteGraph:
    """The picture of references: a layer of names for each kind, in order, and notes on what was left out."""

    title: str
    layers: tuple[tuple[str, ...], ...]
    references: tuple[SiteReference, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteIndex:
    """The first page: all artifacts, runs and audits, and notes on what was left out.

    `graph`: the path of the picture of references, empty where there are none.
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


# A small store is drawn whole; more than the limits is not readable, and its page would pass 300 kB.
WHOLE_STORE, ARTIFACTS_LIMIT, REFERENCES_LIMIT = 60, 150, 1000
LAYERS = (Kind.DATASET, Kind.RUBRIC, Kind.JUDGE)


def build_graph(title: str, names: Sequence[str], references: Collection[SiteReference]) -> SiteGraph:
    """Return the picture of references between artifacts (`<kind>/<id>`), with sentences on what it leaves out."""
    known = set(names)
    edges = sorted(one for one in references if one.user != one.used and {one.user, one.used} <= known)
    degrees = Counter(chain.from_iterable((one.user, one.used) for one in edges))
    kept, notes = [*names], list[str]()
    if len(kept) > WHOLE_STORE:
        kept = [name for name in names if degrees[name]]
        if alone := len(names) - len(kept):
            notes.append(f"Of {len(names):,} artifacts, {alone:,} without references are left out.")
    if len(kept) > ARTIFACTS_LIMIT:
        notes.append(
            f"Of {len(kept):,} artifacts with references, the {ARTIFACTS_LIMIT:,} with the most are drawn; "
            "each artifact's page lists its own."
        )
        kept = sorted(kept, key=lambda name: (-degrees[name], name))[:ARTIFACTS_LIMIT]
    edges = [one for one in edges if {one.user, one.used} <= {*kept}]
    if len(edges) > REFERENCES_LIMIT:
        notes.append(f"Of {len(edges):,} references between them, {REFERENCES_LIMIT:,} are drawn.")
        # Every n-th of them, so that no artifact is left without because of its name.
        edges = [edges[place * len(edges) // REFERENCES_LIMIT] for place in range(REFERENCES_LIMIT)]
    return SiteGraph(title, order_layers(kept, edges), tuple(edges), tuple(notes))


def order_layers(names: Collection[str], edges: Collection[SiteReference]) -> tuple[tuple[str, ...], ...]:
    """Return names by kind, each layer in the order that lets few lines cross; kinds without a name have no layer.

    Each sweep moves an artifact to the mean place of its neighbours in other layers (Sugiyama's barycenter heuristic).
    """
    by_kind = {kind: sorted(name for name in names if name.startswith(f"{kind}/")) for kind in LAYERS}
    layers = [layer for layer in by_kind.values() if layer]
    neighbours = defaultdict[str, list[str]](list)
    for one in edges:
        if one.user.partition("/")[0] != one.used.partition("/")[0]:
            neighbours[one.user].append(one.used)
            neighbours[one.used].append(one.user)
    for sweep in range(6):
        places = {name: (place + 0.5) / len(layer) for layer in layers for place, name in enumerate(layer)}
        for layer in layers[:: -1 if sweep % 2 else 1]:
            means = {name: _find_mean(places, neighbours[name], places[name]) for name in layer}
            layer.sort(key=lambda name: (means[name], name))
            places |= {name: (place + 0.5) / len(layer) for place, name in enumerate(layer)}
    return tuple(map(tuple, layers))


def _find_mean(places: Mapping[str, float], names: Sequence[str], default: float) -> float:
    return sum(places[name] for name in names) / len(names) if names else default


RUNS_LIMIT, AUDITS_LIMIT = 500, 50
_NO_TIME = datetime.fromtimestamp(0, UTC)  # of a run that does not say when it was made
GRAPH_PATH = "references.html"


@dataclass
class StoreSite:
    """The site of one store, with the runs below `folder`."""

    store: ArtifactStore
    folder: Path
    notes: list[str] = field(default_factory=list)

    @cached_property
    def artifacts(self) -> tuple[ArtifactSummary, ...]:
        """All artifacts."""
        return list_artifacts(self.store).artifacts

    @cached_property
    def runs(self) -> tuple[SiteRun, ...]:
        """The runs that can be read, oldest first; files that are not runs are passed over."""
        read = (run for _, run in iterate_runs(self.folder) if isinstance(run, Run))
        found = sorted(read, key=lambda run: (find_run_time(run) or _NO_TIME, str(run.path)))
        if len(found) > RUNS_LIMIT:
            self.notes.append(f"of {len(found):,} runs the newest {RUNS_LIMIT:,} have a page")
        named = ((run, run.path.relative_to(self.folder).with_suffix("").as_posix()) for run in found[-RUNS_LIMIT:])
        return tuple(SiteRun(run, f"runs/{place}.html", name) for place, (run, name) in enumerate(named, start=1))

    @cached_property
    def audits(self) -> tuple[SiteAudit, ...]:
        """Each run with the one before it of the same dataset, newest last; not yet computed.

        A run without a score, because gradings failed, is compared with none.
        """
        by_dataset: defaultdict[str, list[SiteRun]] = defaultdict(list)
        for run in self.runs:
            if not run.run.is_withheld:
                by_dataset[run.run.name].append(run)
        pairs = [pair for runs in by_dataset.values() for pair in pairwise(runs)]
        if len(pairs) > AUDITS_LIMIT:
            self.notes.append(f"of {len(pairs):,} pairs of runs the last {AUDITS_LIMIT:,} are audited")
        kept = pairs[-AUDITS_LIMIT:]
        return tuple(SiteAudit(a, b, f"audits/{place}.html") for place, (a, b) in enumerate(kept, start=1))

    def build_index(self, artifacts: Sequence[SiteEntry], audits: Sequence[SiteAudit]) -> SiteIndex:
        """Return the first page; `audits` are those of `audits`, with what they say or their problems."""
        path = GRAPH_PATH if self.graph.references else ""
        return SiteIndex(self.title, tuple(artifacts), self.runs, tuple(audits), tuple(self.notes), path)

    @property
    def title(self) -> str:
        """The name of the store's folder."""
        return (self.store.root or self.store.git.directory).resolve().name

    @cached_property
    def graph(self) -> SiteGraph:
        """The picture of references between the working files."""
        names = [one.name for one in self.artifacts]
        return build_graph(self.title, names, {*self._iterate_references(names)})

    def read_artifact(self, summary: ArtifactSummary) -> SiteArtifact:
        """Return the page of one artifact."""
        name = summary.name
        log = self._read_log(name) if summary.releases else None
        file = read_artifact_file(self.store, f"{name}@worktree" if summary.working else name)
        title = file.resolved.artifact.value.get("title")
        return SiteArtifact(
            summary=summary,
            title=title if isinstance(title, str) else "",
            version=file.resolved.version,
            log=log,
            steps=tuple(_list_steps(log)) if log else (),
            references=tuple(
                sorted({one.ref.name for one in self._graph.read_references(f"{name}@worktree").references})
            ),
            users=tuple(sorted({one.user.partition("@")[0] for one in self._graph.find_references_to(name)})),
            text=file.data.decode("utf-8", "replace"),
        )

    def iterate_diffs(self, artifact: SiteArtifact) -> Iterator[StepDiff]:
        """Yield what each step of an artifact changed, as its log has it: by the rules, without overrides."""
        diffs = {str(entry.logged.version): entry.diff for entry in artifact.log.releases} if artifact.log else {}
        for step in artifact.steps:
            if found := diffs[step.new]:
                yield StepDiff(step, found)

    def audit_runs(self, pair: SiteAudit) -> tuple[Audit | None, SiteAudit]:
        """Return the audit of two runs and what it says, or None and why they cannot be audited."""
        try:
            found = audit(pair.a.run, pair.b.run, self.store)
        except EvalstoreError as error:
            return None, replace(pair, problem=error.message)
        found = replace(found, a=replace(found.a, run=pair.a.name), b=replace(found.b, run=pair.b.name))
        return found, replace(pair, sentence=found.sentence, answer=write_answer(found))

    @cached_property
    def _graph(self) -> ReferenceGraph:
        return build_working_graph(self.store)

    def _iterate_references(self, names: Sequence[str]) -> Iterator[SiteReference]:
        for name in names:
            scores = defaultdict[str, bool](bool)
            for one in self._graph.read_references(f"{name}@worktree").references:
                scores[one.ref.name] |= one.scores
            yield from (SiteReference(name, used, scored) for used, scored in scores.items())

    def _read_log(self, name: str) -> ReleaseLog | None:
        try:
            return read_release_log(self.store, parse_ref(name))
        except EvalstoreError as error:
            self.notes.append(f"{name}: {error.message}")
            return None


def _list_steps(log: ReleaseLog) -> Iterator[SiteStep]:
    for entry in log.releases:
        if entry.before is not None and entry.rules:
            old, new = str(entry.before), str(entry.logged.version)
            yield SiteStep(old, new, f"{log.name}/{old}--{new}.html")
