"""Reads from a store what the pages of its site show, one page after another; writes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from evalstore.audits import Audit, AuditOptions, audit_runs
from evalstore.audits.slices import map_tags
from evalstore.audits.wording.answer import write_answer
from evalstore.errors import EvalstoreError
from evalstore.model import parse_ref
from evalstore.release.dependencies.reference_graph import ReferenceGraph, build_working_graph
from evalstore.release.history.release_log import ReleaseLog, read_release_log
from evalstore.runs import Run
from evalstore.runs.run_search import find_run_time, iterate_runs
from evalstore.runs.run_view import RowChoice, RunReader, read_chosen_rows
from evalstore.site.graph import build_graph
from evalstore.site.values import (
    SiteArtifact,
    SiteAudit,
    SiteEntry,
    SiteGraph,
    SiteIndex,
    SiteReference,
    SiteRun,
    SiteStep,
    StepDiff,
)
from evalstore.store import ArtifactStore
from evalstore.store.listing import ArtifactSummary, list_artifacts, read_artifact_file

RUNS_LIMIT, AUDITS_LIMIT = 500, 50
_NO_TIME = datetime.fromtimestamp(0, UTC)  # for a run that does not say when it was made
GRAPH_PATH = "references.html"


@dataclass
class StoreSite:
    """The site of one store, with the runs below `folder`."""

    store: ArtifactStore
    folder: Path
    notes: list[str] = field(default_factory=list)
    _tags: dict[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    @cached_property
    def artifacts(self) -> tuple[ArtifactSummary, ...]:
        """All artifacts."""
        return list_artifacts(self.store).artifacts

    @cached_property
    def runs(self) -> tuple[SiteRun, ...]:
        """The runs that can be read, oldest first; files that are not runs are skipped."""
        read = (run for _, run in iterate_runs(self.folder) if isinstance(run, Run))
        found = sorted(read, key=lambda run: (find_run_time(run) or _NO_TIME, str(run.path)))
        if len(found) > RUNS_LIMIT:
            self.notes.append(f"of {len(found):,} runs the newest {RUNS_LIMIT:,} have a page")
        runs = enumerate(found[-RUNS_LIMIT:], start=1)
        return tuple(self._place_run(run, place) for place, run in runs)

    def _place_run(self, run: Run, place: int) -> SiteRun:
        name = run.path.relative_to(self.folder).with_suffix("").as_posix()
        return SiteRun(run, f"runs/{place}.html", name)

    @cached_property
    def audits(self) -> tuple[SiteAudit, ...]:
        """Each run with the previous one on the same dataset, newest last; not computed yet.

        A run without a score, because gradings failed, is not compared.
        """
        by_dataset: defaultdict[str, list[SiteRun]] = defaultdict(list)
        for run in self.runs:
            if not run.run.is_withheld:
                by_dataset[run.run.name].append(run)
        pairs = [pair for runs in by_dataset.values() for pair in pairwise(runs)]
        if len(pairs) > AUDITS_LIMIT:
            self.notes.append(
                f"of {len(pairs):,} pairs of runs the last {AUDITS_LIMIT:,} are audited"
            )
        kept = pairs[-AUDITS_LIMIT:]
        return tuple(
            SiteAudit(a, b, f"audits/{place}.html") for place, (a, b) in enumerate(kept, start=1)
        )

    def build_index(self, artifacts: Sequence[SiteEntry], audits: Sequence[SiteAudit]) -> SiteIndex:
        """Return the first page.

        `audits` are those of `StoreSite.audits`, with their result or problem.
        """
        path = GRAPH_PATH if self.graph.references else ""
        return SiteIndex(
            self.title, tuple(artifacts), self.runs, tuple(audits), tuple(self.notes), path
        )

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
        log = self._load_log_or_note(name) if summary.releases else None
        file = read_artifact_file(self.store, f"{name}@worktree" if summary.working else name)
        title = file.resolved.artifact.value.get("title")
        used = self._graph.read_references(f"{name}@worktree").references
        users = self._graph.find_references_to(name)
        return SiteArtifact(
            summary=summary,
            title=title if isinstance(title, str) else "",
            version=file.resolved.version,
            log=log,
            steps=tuple(_list_steps(log)) if log else (),
            references=tuple(sorted({one.ref.name for one in used})),
            users=tuple(sorted({one.user.partition("@")[0] for one in users})),
            text=file.data.decode("utf-8", "replace"),
        )

    def iterate_diffs(self, artifact: SiteArtifact) -> Iterator[StepDiff]:
        """Yield what each step of an artifact changed, as in its log.

        The log compares by the rules, without overrides.
        """
        diffs = (
            {str(entry.logged.version): entry.diff for entry in artifact.log.releases}
            if artifact.log
            else {}
        )
        for step in artifact.steps:
            if found := diffs[step.new]:
                yield StepDiff(step, found)

    def audit_runs(self, pair: SiteAudit) -> tuple[Audit | None, SiteAudit]:
        """Return the audit of two runs and its result, or None and why they cannot be audited."""
        try:
            found = audit_runs(pair.a.run, pair.b.run, self.store, AuditOptions())
        except EvalstoreError as error:
            return None, replace(pair, problem=error.message)
        found = replace(
            found, a=replace(found.a, run=pair.a.name), b=replace(found.b, run=pair.b.name)
        )
        return found, replace(pair, sentence=found.sentence, answer=write_answer(found))

    def read_run(self, run: SiteRun) -> tuple[RunReader, Mapping[str, Sequence[str]]]:
        """Return a reader of a run's outputs, and the tags of its questions by id."""
        return read_chosen_rows(run.run.path, RowChoice()), self._map_tags_or_note(run.run)

    def note_contradiction(self, reader: RunReader) -> None:
        """Note how a run contradicts its outputs, after all of them were read."""
        if reader.contradiction:
            self.notes.append(reader.contradiction)

    def _map_tags_or_note(self, run: Run) -> Mapping[str, Sequence[str]]:
        dataset = run.dataset.ref if run.dataset else ""
        if dataset not in self._tags:
            try:
                self._tags[dataset] = map_tags(self.store.questions(dataset)) if dataset else {}
            except EvalstoreError as error:
                self.notes.append(f"{dataset}: no tags of its questions: {error.message}")
                self._tags[dataset] = {}
        return self._tags[dataset]

    @cached_property
    def _graph(self) -> ReferenceGraph:
        return build_working_graph(self.store)

    def _iterate_references(self, names: Sequence[str]) -> Iterator[SiteReference]:
        for name in names:
            scores = defaultdict[str, bool](bool)
            for one in self._graph.read_references(f"{name}@worktree").references:
                scores[one.ref.name] |= one.scores
            yield from (SiteReference(name, used, scored) for used, scored in scores.items())

    def _load_log_or_note(self, name: str) -> ReleaseLog | None:
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
