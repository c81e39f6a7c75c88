"""`evalstore show`: prints an artifact's file as it was at a version, or a run output by output."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import (
    PLAIN_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
)
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import (
    ONLY_HELP,
    REF,
    USER_FILE,
    check_ref,
    parse_only,
)
from evalstore.cli.run_pages import KEPT, require_other_tool, show_pairs, write_run_page
from evalstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalstore.runs.run_view import RowChoice, RunReader, RunView

_RUN = re.compile(r".*\.(?:jsonl?|parquet|eval|csv)(?:\.(?:gz|zst))?", re.DOTALL)
_NAME = re.compile(r"(?:rubric|judge|dataset)/[^/.@]*(?:@.*)?", re.DOTALL)
_ARTIFACT = re.compile(r".*\.ya?ml(?:@.*)?", re.DOTALL)
# Formats that only a run can be printed in.
_RUN_FORMATS = {"html": "a page", "csv": "a table"}


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore show rubric/answer_style@1.0.0",
        "evalstore show judge/accuracy",
        "evalstore show rubric/answer_style@1.0.0 --raw > old.yaml",
        (
            "evalstore show runs/web_answers-1.0.0-model_a.json --failed           "
            "# what did not pass, and why"
        ),
        (
            "evalstore show runs/web_answers-1.0.0-model_a.json --question q17     "
            "# asked, answered, and every reason"
        ),
        (
            "evalstore show runs/web_answers-1.0.0-model_a.json "
            "runs/web_answers-2.0.0-model_a.json   # side by side"
        ),
        (
            "evalstore show runs/web_answers-1.0.0-model_a.json --format html --out run.html   "
            "# all, with a search"
        ),
        (
            "evalstore show runs/web_answers-1.0.0-model_a.json --format csv > run.csv      "
            "# for a spreadsheet"
        ),
        (
            "evalstore show runs/web_answers-1.0.0-model_a.json --label labels.jsonl   "
            "# one key a verdict; go on any time"
        ),
        (
            "evalstore show results.json --only model=openai:gpt-4o   "
            "# what promptfoo recorded of one provider"
        ),
    ),
)
@click.argument("name", metavar="REF|RUN", shell_complete=REF.shell_complete)
@click.argument("other", metavar="[RUN_B]", required=False)
@click.option(
    "--raw",
    is_flag=True,
    help="Print the file byte for byte, without escaping it for the terminal.",
)
@click.option("--failed", is_flag=True, help="For a run: only the outputs that did not pass.")
@click.option("--question", metavar="ID", help="For a run: only this question, in full.")
@click.option("--check", metavar="ID", help="For a run: only this check.")
@click.option(
    "--label",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=(
        "For a run: ask whether each output is good, one key a verdict, and add the labels to FILE."
    ),
)
@click.option("--only", metavar="WHAT=NAME", multiple=True, callback=parse_only, help=ONLY_HELP)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --format html: the file of the page; what is over 50 MB goes to files next to it.",
)
@add_output_options((*PLAIN_FORMATS, *_RUN_FORMATS))
def command(  # noqa: PLR0913  # the command line
    settings: CommandSettings,
    name: str,
    other: str | None,
    *,
    raw: bool,
    failed: bool,
    question: str | None,
    check: str | None,
    label: Path | None,
    only: dict[str, str],
    out: Path | None,
) -> None:
    """Show the file of REF at that version, or the outputs of RUN with the reasons for their
    scores.

    A run is named by its JSON file, its samples, or a folder of its own. Results that another tool
    recorded count as runs: promptfoo, Inspect AI, skill-creator, AgentV, lm-evaluation-harness,
    openai/evals, OpenAI's hosted evals, waza, DeepEval, MLflow and Ragas, also packed as .gz or
    .zst. If a file holds several configurations, each has its mean, and --only shows one. Outputs
    are listed worst first: score, the reason of every check (for a judge, what it said), and the
    output, shortened, with forbidden texts marked. Nothing is graded, so no store is needed. On a
    terminal, a long list goes through the pager (PAGER, else less; an empty PAGER means none).

    Two runs are shown as pairs of outputs, what regressed first: score and verdict of both, the
    checks that moved with both reasons, and the outputs word by word. If the store can grade both
    again, each pair names the edits that moved it. --format html is a page of every output, with a
    search, that needs no network.
    """
    if out is not None and settings.format != "html":
        raise UsageError("--out is for a page", hint="add --format html")
    chosen = {
        "--failed": failed,
        "--question": question is not None,
        "--check": check is not None,
        "--label": label is not None,
        "--only": bool(only),
    }
    if not is_run_name(name, settings.path):
        _check_artifact_options(settings, name, other, chosen, raw=raw)
        _show_artifact(settings, check_ref(name, settings.path, of_content=True), raw=raw)
        return
    from evalstore.runs.run_view import RowChoice

    if raw:
        raise UsageError("--raw is for artifacts, and this is a run", hint="see --format json")
    choice = RowChoice(failed, question, check)
    if other is not None:
        unused = {option: chosen[option] for option in ("--failed", "--check", "--label")}
        show_pairs(settings, (name, other), question, only, out, unused)
    elif label is not None:
        from evalstore.cli.labelling import label_run, require_terminal

        require_terminal(settings, failed=failed)
        label_run(settings, _view_run(settings, name, choice, only, whole=True), label)
    elif settings.format == "html":
        write_run_page(settings, _read_run(settings, name, choice, only), out)
    else:
        settings.print_result(_view_run(settings, name, choice, only), paged=True)


def _check_artifact_options(
    settings: CommandSettings,
    name: str,
    other: str | None,
    chosen: Mapping[str, bool],
    *,
    raw: bool,
) -> None:
    """Refuse options that only the outputs of a run can have; `chosen` lists those given."""
    if other is not None:
        raise UsageError(f"two runs are shown side by side, and {name} is not a run")
    if used := [option for option, is_given in chosen.items() if is_given]:
        raise UsageError(f"{used[0]} is for the outputs of a run, and {name} is not a run")
    if raw and settings.format == "json":
        raise UsageError(
            "--raw and --format json exclude each other", hint="the JSON document also has the text"
        )
    if settings.format in _RUN_FORMATS:
        what = _RUN_FORMATS[settings.format]
        raise UsageError(f"only a run can be {what}", hint="to see the file, remove --format")


def is_run_name(name: str, folder: Path) -> bool:
    """Whether a word of the command line names a run, not an artifact.

    It ends like the name of a run, or exists.
    """
    if _NAME.fullmatch(name):
        return False
    if _ARTIFACT.fullmatch(name):
        return _is_result(folder / name)
    return (
        "://" in name
        or bool(_RUN.fullmatch(name))
        or ("\0" not in name and (folder / name).exists())
    )


def _is_result(path: Path) -> bool:
    """Whether a YAML file contains results, as promptfoo writes them."""
    from evalstore.runs.formats import find_format
    from evalstore.runs.run_files import is_existing_file

    shape = find_format(path).shape if is_existing_file(path) else None
    return shape is not None and shape.has_verdicts


def _view_run(
    settings: CommandSettings,
    name: str,
    choice: RowChoice,
    only: dict[str, str],
    *,
    whole: bool = False,
) -> RunView:
    from evalstore.runs.run_view import keep_worst

    is_short = settings.format == "text" and not settings.verbose and not whole
    return keep_worst(_read_run(settings, name, choice, only), KEPT if is_short else None)


def _read_run(
    settings: CommandSettings, name: str, choice: RowChoice, only: dict[str, str]
) -> RunReader:
    from evalstore.runs.imports.series_filter import SeriesFilter
    from evalstore.runs.run_view import read_chosen_rows

    path = USER_FILE.convert(name, None, None)
    reader = read_chosen_rows(settings.path / path, choice, SeriesFilter(only) if only else None)
    if only:
        require_other_tool(reader.run)
    # The report names the run as the user did, not by its path below -C.
    reader.run = replace(reader.run, path=path)
    return reader


def _show_artifact(settings: CommandSettings, ref: str, *, raw: bool) -> None:
    from evalstore.store.listing import read_artifact_file

    with settings.open_store() as store:
        file = read_artifact_file(store, ref)
    if file.resolved.floating:
        settings.print_message(
            f"{file.resolved.ref} is {file.resolved.name}@{file.resolved.version}"
        )
    if raw:
        sys.stdout.buffer.write(file.data)
    else:
        settings.print_result(file)
