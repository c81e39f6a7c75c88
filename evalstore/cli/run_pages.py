"""Writes runs for `evalstore show` in forms other than one text.

These are the page of a run, and two runs side by side.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evalstore.cli.param_types import USER_FILE
from evalstore.errors import EvalstoreError, GitError, UsageError

if TYPE_CHECKING:
    from evalstore.cli.context import CommandSettings
    from evalstore.report.pages.row_file import RowPages
    from evalstore.runs import Run
    from evalstore.runs.run_view import RunReader

KEPT = 41  # outputs kept for a text; the last one is only counted


def show_pairs(  # noqa: PLR0913, PLR0917  # the options of the command line
    settings: CommandSettings,
    names: tuple[str, str],
    question: str | None,
    only: dict[str, str],
    out: Path | None,
    unused: Mapping[str, bool],
) -> None:
    """Show two runs side by side.

    If the folder's store has them, the edits behind a pair are named.
    """
    from evalstore.api import add_edits, keep_regressed, read_pairs
    from evalstore.report.run_pairs import prepare_pages
    from evalstore.runs.imports.series_filter import SeriesFilter

    if used := [option for option, given in unused.items() if given]:
        raise UsageError(f"{used[0]} is for the outputs of one run")
    if settings.format == "csv":
        raise UsageError("a table has the outputs of one run", hint="see --format json")
    if question is not None and settings.format == "html":
        raise UsageError("the page of two runs has all pairs", hint="remove --question")
    paths = [USER_FILE.convert(name, None, None) for name in names]
    files = settings.path / paths[0], settings.path / paths[1]
    reader = read_pairs(*files, SeriesFilter(only) if only else None)
    if only:
        require_other_tool(*reader.runs)
    try:
        with settings.open_store() as store:
            add_edits(reader, *files, store)
    except GitError as error:
        reader.gap = f"no edit is named: {error.message}"
    # The report names the runs as the user did, not by their paths below -C.
    a = replace(reader.comparison.a, run=str(paths[0]))
    b = replace(reader.comparison.b, run=str(paths[1]))
    reader.comparison = replace(reader.comparison, a=a, b=b)
    if settings.format == "html":
        _print_pages(settings, prepare_pages(reader, _map_tags(settings, reader.runs[1])), out)
        return
    limit = KEPT if settings.format == "text" and not settings.verbose else None
    settings.print_result(keep_regressed(reader, limit, question), paged=True)


def require_other_tool(*runs: Run) -> None:
    """Raise `UsageError` if neither run is from another tool.

    --only chooses a series of such runs alone.
    """
    from evalstore.runs.formats import EVERY_EVAL_EVER, detect_format

    if all(detect_format(run.path).tool == EVERY_EVAL_EVER for run in runs):
        said = "this is a run" if len(runs) == 1 else "these are runs"
        raise UsageError(f"--only chooses among results of other tools, and {said}")


def write_run_page(settings: CommandSettings, reader: RunReader, out: Path | None) -> None:
    """Write the page of a run, with every requested output."""
    from evalstore.report.pages.run import prepare_pages

    _print_pages(settings, prepare_pages(reader, _map_tags(settings, reader.run)), out)


def _print_pages(settings: CommandSettings, pages: RowPages, out: Path | None) -> None:
    """Write pages to the named file and to others next to it.

    Without a name, stdout gets the first page only.
    """
    from evalstore.files import make_folder, write_below

    if out is None:
        sys.stdout.writelines(pages.write_part(0))
        if pages.parts[1:]:
            settings.print_message(
                f"warning: the page has {len(pages.parts[0]):,} of {pages.found:,} rows: more "
                "would be over 50 MB; --out FILE writes the others to further files"
            )
        return
    path = settings.require_no_link(out)
    make_folder(path.parent)
    for part, pieces in pages.iterate_parts(path.name):
        write_below(path.parent, part, pieces, label=str(out.with_name(part)))
        settings.print_message(f"wrote {out.with_name(part)}")


def _map_tags(settings: CommandSettings, run: Run) -> Mapping[str, Sequence[str]]:
    """Return the tags of a run's questions if its store is here.

    The run itself does not have them.
    """
    from evalstore.api import map_tags

    if run.dataset is None:
        return {}
    try:
        with settings.open_store() as store:
            return map_tags(store.questions(run.dataset.ref))
    except GitError:
        return {}
    except EvalstoreError as error:
        settings.print_message(f"warning: the page has no tags of questions: {error}")
        return {}
