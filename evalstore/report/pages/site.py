"""Writes the pages of a store's site that no command shows by itself: the index, and each artifact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.model import Kind
from evalstore.report.pages.html import Markup, join_markup, make_element, make_page
from evalstore.report.pages.tables import (
    format_cell,
    format_head,
    format_items,
    format_number,
    format_row,
    format_table,
)
from evalstore.report.text_layout import count_noun
from evalstore.text import make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.site import SiteArtifact, SiteAudit, SiteIndex, SiteRun
    from evalstore.status.release_log import ReleaseLogEntry
    from evalstore.store.listing import ArtifactSummary

_DAY, _SUMMARY = 10, 80
_TEXT = 60_000  # characters of a file that a page holds


def write_index(site: SiteIndex) -> str:
    """Return the first page: artifacts by kind, runs, and audits of runs that follow each other."""
    kinds = (count_noun(sum(one.kind is kind for one in site.artifacts), kind) for kind in Kind)
    released = sum(one.releases for one in site.artifacts)
    return make_page(
        f"{site.title}: rulers of evaluation",
        make_element("h1", site.title),
        make_element("p", f"{', '.join(kinds)}; {count_noun(released, 'release')}.", class_="answer"),
        *([make_element("p", make_element("a", "Who refers to whom, drawn", href=site.graph))] if site.graph else []),
        *(part for kind in Kind for part in _format_kind(kind, [one for one in site.artifacts if one.kind is kind])),
        *_format_runs(site.runs),
        *_format_audits(site.audits),
        format_items(site.notes),
    )


def write_artifact(page: SiteArtifact) -> str:
    """Return the page of one artifact: its releases with what each changed, its references, and its file."""
    name = page.summary.name
    steps = {step.new: step.path for step in page.steps}
    entries = page.log.releases if page.log else ()
    rows = [_format_release(entry, _relate(steps.get(str(entry.logged.version), ""))) for entry in entries]
    since = entries[0].since if entries else None
    text = (
        page.text if len(page.text) <= _TEXT else f"{page.text[:_TEXT]}\n… {len(page.text) - _TEXT:,} more characters"
    )
    return make_page(
        name,
        make_element("h1", make_element("a", "all artifacts", href="../../index.html"), f" / {name}"),
        make_element(
            "p", f"Scores are comparable since {since}." if since else f"{name} {page.version}", class_="answer"
        ),
        *([make_element("h2", "Releases"), format_table(_RELEASE_HEAD, rows)] if rows else []),
        *_format_names("Refers to", page.references),
        *_format_names("Referred to by", page.users),
        make_element("h2", f"The file, version {page.version}"),
        make_element("pre", text),
    )


def add_trail(page: str, path: str, artifact: str = "") -> str:
    """Return a page that a command shows by itself too, with links to where it belongs in the site.

    `path` is its place in the site, `artifact` the one whose page lies beside it.
    """
    trail = [make_element("a", "all artifacts", href="../" * path.count("/") + "index.html")]
    trail += [make_element("a", artifact, href="index.html")] if artifact else []
    between = [part for link in trail for part in (" / ", link)][1:]
    return page.replace("<main>\n", f"<main>\n{make_element('p', *between, class_='quiet')}\n", 1)


_RELEASE_HEAD = ("version", "date", "released by", "bump", "what changed")


def _format_kind(kind: Kind, artifacts: Sequence[ArtifactSummary]) -> Iterator[Markup]:
    if not artifacts:
        return
    yield make_element("h2", f"{kind.folder.capitalize()}")
    rows = [
        format_row(
            format_head(make_element("a", one.id, href=f"{one.name}/index.html")),
            format_cell("released", one.latest or "not yet"),
            format_cell("releases", f"{one.releases:,}", is_number=True),
            format_cell("file", (one.problem or "changed") if one.changed or one.problem else one.working or "gone"),
        )
        for one in artifacts
    ]
    yield format_table(("", "released", "releases", "file"), rows, numbers=("releases",))


def _format_runs(runs: Sequence[SiteRun]) -> Iterator[Markup]:
    if runs:
        yield make_element("h2", "Runs")
        rows = [
            format_row(
                format_head(make_element("a", make_excerpt(one.name, _SUMMARY), href=one.path)),
                format_cell("model", make_printable(one.run.model)),
                format_cell("dataset", one.run.dataset.ref if one.run.dataset else one.run.name),
                format_number("score", one.run.score),
                format_number("passes", one.run.pass_rate),
            )
            for one in reversed(runs)
        ]
        yield format_table(("", "model", "dataset", "score", "passes"), rows, numbers=("score", "passes"))


def _format_audits(audits: Sequence[SiteAudit]) -> Iterator[Markup]:
    if audits:
        yield make_element("h2", "Why scores changed")
        yield format_items([_format_audit(one) for one in reversed(audits)])


def _format_audit(pair: SiteAudit) -> Markup:
    title = f"{pair.a.name} \u2192 {pair.b.name}"
    if pair.problem:
        return join_markup(title, make_element("span", f": no audit, because {pair.problem}", class_="quiet"))
    return make_element("a", title, href=pair.path)


def _format_release(entry: ReleaseLogEntry, path: str) -> Markup:
    release = entry.logged
    rules = ", ".join(f"{rule} ({count:,})" if count > 1 else rule for rule, _, count in entry.rules)
    what = rules or entry.problem or ("first release" if entry.before is None else "the same content")
    return format_row(
        format_head(str(release.version)),
        format_cell("date", release.date[:_DAY]),
        format_cell("released by", make_excerpt(release.author, _SUMMARY)),
        format_cell("bump", str(entry.required) if entry.required is not None else ""),
        format_cell("what changed", make_element("a", what, href=path) if path else what),
    )


def _format_names(title: str, names: Sequence[str]) -> Iterator[Markup]:
    if names:
        yield make_element("h2", title)
        yield format_items([make_element("a", name, href=f"../../{name}/index.html") for name in names])


def _relate(path: str) -> str:
    """Return the path of a step's page as seen from the artifact's own."""
    return path.rpartition("/")[2]
