"""`evalstore site`: writes a store as static pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.progress import make_watch
from evalstore.errors import Place, RefusedError
from evalstore.progress import Watch

if TYPE_CHECKING:
    from evalstore.api import SiteAudit, SiteEntry, StoreSite

_MARK = ".evalstore-site"


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore site public",
        "evalstore site public --runs results   # the runs below another folder",
        "evalstore site public && python -m http.server --directory public",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--runs",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="The folder to look for runs in.",
)
@add_output_options()
def command(settings: CommandSettings, folder: Path, *, runs: Path) -> None:
    """Write the store as pages into DIR: artifacts, changes of each release, references, runs,
    audits.

    The pages need no server and no network. DIR is new or empty, or holds an earlier site, which is
    replaced. The page of a run has all of its outputs. Judges answer from kept replies.
    """
    from evalstore.api import StoreSite, WrittenSite
    from evalstore.files import make_folder, sweep_below, write_below

    out, pages = settings.path / folder, 0
    sweep_below(out, _MARK)
    _require_own_folder(out)
    with settings.open_judged_store() as store:
        site = StoreSite(store, settings.path / runs)
        make_folder(out)
        write_below(out, _MARK, b"")
        watch = make_watch("writing", quiet=settings.quiet)
        for path, page in _iterate_pages(site, watch):
            sweep_below(out, path)
            write_below(out, path, page, label=str(out / path))
            pages += 1
    settings.print_result(WrittenSite(str(folder), pages, tuple(site.notes)))


def _require_own_folder(out: Path) -> None:
    if out.is_dir() and any(out.iterdir()) and not (out / _MARK).is_file():
        hint = "name a new folder, or one that evalstore site wrote"
        raise RefusedError(
            "contains other files, which the site would replace", place=Place(str(out)), hint=hint
        )


def _iterate_pages(site: StoreSite, watch: Watch[Any]) -> Iterator[tuple[str, Iterable[bytes]]]:
    from evalstore.api import summarize_artifact
    from evalstore.report.diff_words import write_step
    from evalstore.report.notebook import write_audit
    from evalstore.report.pages import diff, reference_graph
    from evalstore.report.pages import site as pages
    from evalstore.report.pages.run import prepare_pages

    links: dict[str, str] = {}
    entries: list[SiteEntry] = []
    for summary in watch(site.artifacts):
        artifact = site.read_artifact(summary)
        entries.append(summarize_artifact(artifact))
        yield f"{summary.name}/index.html", [pages.write_artifact(artifact).encode()]
        for found in site.iterate_diffs(artifact):
            path = found.step.path
            step = write_step(summary.name, found.step.old, found.step.new)
            links[step] = f"../{path}"
            trail = pages.write_trail(path, summary.name)
            yield path, [diff.write_page(found.diff, trail).encode()]
    for run in watch(site.runs):
        reader, tags = site.read_run(run)
        found_rows = prepare_pages(reader, tags)
        site.note_contradiction(reader)
        yield from found_rows.iterate_parts(run.path, pages.write_trail(run.path))
    audits: list[SiteAudit] = []
    for pair in site.audits:
        audit, shown = site.audit_runs(pair)
        audits.append(shown)
        if audit is not None:
            yield pair.path, [write_audit(audit, links, pages.write_trail(pair.path)).encode()]
    index = site.build_index(entries, audits)
    if index.graph:
        yield index.graph, [reference_graph.write_page(site.graph).encode()]
    yield "index.html", [pages.write_index(index).encode()]
