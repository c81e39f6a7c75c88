"""Writes the pages of a store's site that no command shows by itself: the index, each artifact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalstore.model import Kind
from evalstore.report.log import list_rules
from evalstore.report.pages.filters import FilteredList, FilterMenu, filter_items
from evalstore.report.pages.html import render_page, render_template
from evalstore.report.pages.run_chart import ChartRelease, ChartRun, draw_runs, read_releases
from evalstore.report.text_layout import DAY
from evalstore.runs.run_search import find_run_time
from evalstore.text import count_noun

if TYPE_CHECKING:
    from datetime import datetime
    from fractions import Fraction

    from markupsafe import Markup

    from evalstore.release.history.release_log import ReleaseLogEntry
    from evalstore.site.values import (
        SiteArtifact,
        SiteAudit,
        SiteEntry,
        SiteIndex,
        SiteRelease,
        SiteRun,
    )

_FEW = 3  # datasets whose last two runs are described at the top
_MOST_PEOPLE = 60  # in a filter
_LEVELS = {"major", "minor", "patch"}
_TEXT = 60_000  # characters of a file that a page has room for


def write_index(site: SiteIndex) -> str:
    """Return the first page.

    It has the last change and whether it moved scores, runs over time, and artifacts.
    """
    kinds = Counter(one.summary.kind for one in site.artifacts)
    released = sum(one.summary.releases for one in site.artifacts)
    counts = ", ".join(count_noun(kinds[kind], kind) for kind in Kind)
    artifacts, runs = _filter_artifacts(site.artifacts), _filter_runs(site)
    releases = list(_list_releases(site.artifacts))
    timed = sorted((found.time, name, one) for found, name, one in releases)
    return render_page(
        "site_index",
        title=f"{site.title}: rubrics, judges and datasets",
        rules=artifacts.rules + runs.rules,
        site=site,
        sentence=_describe_release(*timed[-1][1:]) if timed else "Nothing is released yet.",
        moves=[*_list_moves(site, timed[-1][0] if timed else None)],
        drawn=draw_runs(_list_chart_runs(site.runs), (found for found, _, _ in releases)),
        counts=f"{counts}; {count_noun(released, 'release')}.",
        artifacts=artifacts,
        runs=runs,
    )


def _list_releases(
    artifacts: Sequence[SiteEntry],
) -> Iterator[tuple[ChartRelease, str, SiteRelease]]:
    """Yield each release that has a valid date, as drawn, with its artifact's name, and itself."""
    for entry in artifacts:
        for one in entry.releases:
            label = f"{entry.summary.id} {one.version}"
            for drawn in read_releases([(one.date, label, one.author)]):
                yield drawn, entry.summary.name, one


def _describe_release(name: str, one: SiteRelease) -> str:
    what, day = _describe_level(one.level), one.date[:DAY]
    return f"The last release is {name} {one.version}, {what}, on {day} by {one.author}."


def _describe_level(level: str) -> str:
    if level == "first":
        return "its first release"
    return f"a {level} change" if level in _LEVELS else "no change"


def _list_moves(
    site: SiteIndex, release: datetime | None
) -> Iterator[tuple[str, SiteAudit | None]]:
    """Yield whether scores moved lately.

    It takes the last two runs of each dataset, the most recent first.
    """
    times = [time for one in site.runs if (time := find_run_time(one.run))]
    if release and times and max(times) < release:
        yield (
            "No run is newer than this release, so whether it moves scores is not known yet.",
            None,
        )
    last = {pair.b.run.name: pair for pair in site.audits if pair.sentence}
    if not last:
        yield "No dataset has two runs that an audit can compare.", None
    for name, pair in [*last.items()][: -_FEW - 1 : -1]:
        yield f"dataset/{name}: {pair.sentence} {pair.answer}", pair


def _list_chart_runs(runs: Sequence[SiteRun]) -> Iterator[ChartRun]:
    shown = list(_list_dated_runs(runs))
    names = {one.run.name for _, _, one in shown}
    for time, score, one in shown:
        series = one.run.model if len(names) == 1 else f"{one.run.model}, {one.run.name}"
        yield ChartRun(time, series, score, one.name, one.path)


def _list_dated_runs(runs: Sequence[SiteRun]) -> Iterator[tuple[datetime, Fraction, SiteRun]]:
    """Yield the runs that have a time and a score, with both."""
    for one in runs:
        time, score = find_run_time(one.run), one.run.score
        if time and score is not None and not one.run.is_withheld:
            yield time, score, one


def _filter_artifacts(entries: Sequence[SiteEntry]) -> FilteredList:
    """Return a row for each artifact, the last released first.

    The filters are CSS rules.
    """
    ordered = sorted(entries, key=lambda one: one.summary.name)
    ordered.sort(key=lambda one: one.releases[0].date if one.releases else "", reverse=True)
    people = dict.fromkeys(one.releases[0].author for one in ordered if one.releases)
    keys = {name: f"p{number}" for number, name in enumerate([*people][:_MOST_PEOPLE])}
    states = {"fc": "changed since its release", "fn": "never released"}
    levels = dict.fromkeys(one.releases[0].level for one in ordered if one.releases)
    menus = (
        FilterMenu("kind", "any kind", {f"k{kind}": str(kind) for kind in Kind}),
        FilterMenu("last level", "any level", {f"l{level}": level for level in levels}),
        FilterMenu("released by", "anybody", {key: name for name, key in keys.items()}),
        FilterMenu("file", "any", states),
    )
    rows = []
    for one in ordered:
        last = one.releases[0] if one.releases else None
        classes = ["q", f"k{one.summary.kind}"]
        classes += [f"l{last.level}", keys.get(last.author, "")] if last else ["fn"]
        classes += ["fc"] if one.summary.changed else []
        rows.append(render_template("site_row", entry=one, last=last, classes=classes))
    return filter_items(menus, tuple(rows), "The last released first.")


def _filter_runs(site: SiteIndex) -> FilteredList:
    """Return a row for each run, newest first.

    It has the step from the run before, and why the score moved.
    """
    names = _number_classes("d", (one.run.name for one in site.runs))
    models = _number_classes("m", (one.run.model for one in site.runs))
    pairs = {pair.b.path: pair for pair in site.audits}
    rows = []
    for one in reversed(site.runs):
        time, pair = find_run_time(one.run), pairs.get(one.path)
        scores = (one.run.score, pair.a.run.score) if pair else (None, None)
        step = None if scores[0] is None or scores[1] is None else scores[0] - scores[1]
        day = f"{time:%Y-%m-%d}" if time else ""
        classes = ["q", names[one.run.name], models[one.run.model]]
        rows.append(
            render_template("site_run", one=one, pair=pair, step=step, day=day, classes=classes)
        )
    menus = (
        FilterMenu("dataset", "any dataset", _list_choices(names)),
        FilterMenu("model", "any model", _list_choices(models)),
    )
    return filter_items(menus, tuple(rows), "The newest first.")


def _number_classes(letter: str, names: Iterable[str]) -> dict[str, str]:
    """Return a class for each name, numbered in order."""
    return {name: f"{letter}{place}" for place, name in enumerate(dict.fromkeys(names))}


def _list_choices(classes: Mapping[str, str]) -> dict[str, str]:
    """Return the names by class; empty if there is nothing to choose."""
    return {key: name for name, key in classes.items()} if len(classes) > 1 else {}


def write_artifact(page: SiteArtifact) -> str:
    """Return the page of one artifact: releases and their changes, references, and its file."""
    name, text = page.summary.name, page.text
    steps = {step.new: step.path for step in page.steps}
    entries = page.log.releases if page.log else ()
    return render_page(
        "site_artifact",
        title=name,
        name=name,
        page=page,
        since=entries[0].since if entries else None,
        releases=[_prepare_release(entry, steps) for entry in entries],
        text=text
        if len(text) <= _TEXT
        else f"{text[:_TEXT]}\n… {len(text) - _TEXT:,} more characters",
    )


def _prepare_release(entry: ReleaseLogEntry, steps: Mapping[str, str]) -> dict[str, Any]:
    logged = entry.logged
    return {
        "version": logged.version,
        "day": logged.date[:DAY],
        "author": logged.author,
        "bump": "" if entry.required is None else str(entry.required),
        "what": _describe_change(entry),
        # As seen from the page of the artifact.
        "path": steps.get(str(logged.version), "").rpartition("/")[2],
    }


def write_trail(path: str, artifact: str = "") -> Markup:
    """Return links from a page to where it belongs in the site.

    It is a page that a command shows by itself, too. `path` is its place in the site, and
    `artifact` the one whose page is in the same folder.
    """
    index = "../" * path.count("/") + "index.html"
    return render_template("trail", index=index, artifact=artifact)


def _describe_change(entry: ReleaseLogEntry) -> str:
    return (
        list_rules(entry)
        or entry.problem
        or ("first release" if entry.before is None else "the same content")
    )
