"""Writes the pages of a store's site that no command shows by itself: the index, and each artifact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstore.model import Kind
from evalstore.report.pages.html import render_page, render_template
from evalstore.report.text_layout import DAY, count_noun

if TYPE_CHECKING:
    from evalstore.release.release_log import ReleaseLogEntry
    from evalstore.site import SiteArtifact, SiteIndex

_TEXT = 60_000  # characters of a file that a page holds


def write_index(site: SiteIndex) -> str:
    """Return the first page: artifacts by kind, runs, and audits of runs that follow each other."""
    kinds = [(kind, [one for one in site.artifacts if one.kind is kind]) for kind in Kind]
    released = sum(one.releases for one in site.artifacts)
    counts = ", ".join(count_noun(len(artifacts), kind) for kind, artifacts in kinds)
    return render_page(
        "site_index",
        title=f"{site.title}: rubrics, judges and datasets",
        site=site,
        counts=f"{counts}; {count_noun(released, 'release')}.",
        kinds=kinds,
    )


def write_artifact(page: SiteArtifact) -> str:
    """Return the page of one artifact: its releases with what each changed, its references, and its file."""
    name, text = page.summary.name, page.text
    steps = {step.new: step.path for step in page.steps}
    entries = page.log.releases if page.log else ()
    return render_page(
        "site_artifact",
        title=name,
        name=name,
        page=page,
        since=entries[0].since if entries else None,
        releases=[
            {
                "version": entry.logged.version,
                "day": entry.logged.date[:DAY],
                "author": entry.logged.author,
                "bump": "" if entry.required is None else str(entry.required),
                "what": _describe_change(entry),
                # As seen from the page of the artifact.
                "path": steps.get(str(entry.logged.version), "").rpartition("/")[2],
            }
            for entry in entries
        ],
        text=text if len(text) <= _TEXT else f"{text[:_TEXT]}\n… {len(text) - _TEXT:,} more characters",
    )


def add_trail(page: str, path: str, artifact: str = "") -> str:
    """Return a page that a command shows by itself too, with links to where it belongs in the site.

    `path` is its place in the site, `artifact` the one whose page lies beside it.
    """
    trail = render_template("trail", index="../" * path.count("/") + "index.html", artifact=artifact)
    return page.replace("<main>\n", f"<main>\n{trail}\n", 1)


def _describe_change(entry: ReleaseLogEntry) -> str:
    rules = ", ".join(f"{rule} ({count:,})" if count > 1 else rule for rule, _, count in entry.rules)
    return rules or entry.problem or ("first release" if entry.before is None else "the same content")
