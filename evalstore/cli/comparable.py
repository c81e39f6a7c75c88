"""`evalstore comparable`: says whether two sides can be compared as they stand.

The sides are versions, commits or runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.diff_sides import compare_sides, read_side
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import REF, check_ref, name_artifact
from evalstore.errors import ExitCode, UsageError
from evalstore.report.text_layout import join_names
from evalstore.text import count_noun

if TYPE_CHECKING:
    from evalstore.api import ArtifactStore, Comparability, ComparedPart

_COMMIT, _VERSION, _RUN = "commit", "version", "run"


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore comparable rubric/answer_style@1.0.0 rubric/answer_style@2.0.0",
        "evalstore comparable rubric/answer_style@2.0.0 rubrics/answer_style.yaml",
        (
            "evalstore comparable git:v1.0 git:HEAD                                      "
            "# every artifact of the store"
        ),
        "evalstore comparable runs/model_a.json runs/model_b.json",
    ),
)
@click.argument("a", shell_complete=REF.shell_complete)
@click.argument("b", shell_complete=REF.shell_complete)
@add_output_options()
def command(settings: CommandSettings, a: str, b: str) -> ExitCode:
    """Show whether scores under A and under B can be compared: as they are, after scoring again, or
    not.

    A and B are two versions of an artifact, two commits (git:REV), or two runs. The answer is the
    worst of its parts, each with its reason. Nothing is graded, and no judge is asked.

    "yes": no score moves. "yes, after scoring again": the scores can be compared once the outputs
    of one side are graded as the other's were. "bounded": the questions differ, which moves the
    difference by at most the bound. Otherwise: "no".

    The exit code is 0 for "yes", and 1 for every other answer.
    """
    with settings.open_store() as store:
        found = _compare(settings, a, b, store)
    settings.print_result(found)
    return ExitCode.DONE if found.answer == "yes" else ExitCode.NO


def _compare(settings: CommandSettings, a: str, b: str, store: ArtifactStore) -> Comparability:
    from evalstore.api import Comparability, compare_runs, judge_diff

    kinds = {_find_kind(word, settings) for word in (a, b)}
    if len(kinds) > 1:
        raise UsageError(
            f"{a} and {b} cannot be compared: they are a {join_names(sorted(kinds))}",
            hint="name two versions of an artifact, two commits (git:REV), or two runs",
        )
    if kinds == {_COMMIT}:
        return Comparability(a, b, tuple(_compare_commits(settings, a, b, store)))
    if kinds == {_VERSION}:
        names = [name_artifact(word, settings.path, of_content=True) for word in (a, b)]
        old, new = (read_side(name, settings, store) for name in names)
        diff = compare_sides((old, new), store, None)
        return Comparability(old.name, new.name, (judge_diff(new.name, diff),), notes=diff.notes)
    return replace(compare_runs(settings.path / a, settings.path / b, store), a=a, b=b)


def _find_kind(word: str, settings: CommandSettings) -> str:
    """Return what a side is: a commit, a version of an artifact, or else a run."""
    if word.startswith("git:"):
        return _COMMIT
    try:
        check_ref(word, settings.path, of_content=True)
    except UsageError:
        return _RUN
    return _VERSION


def _compare_commits(
    settings: CommandSettings, a: str, b: str, store: ArtifactStore
) -> Iterator[ComparedPart]:
    """Yield a part for each artifact that differs between two commits.

    All equal ones share one part.
    """
    from evalstore.api import ComparableAnswer, ComparedPart, judge_diff
    from evalstore.store.listing import list_committed

    old, new = (list_committed(store, word.removeprefix("git:")) for word in (a, b))
    equal = 0
    for name in sorted({*old, *new}):
        if name not in new:
            yield ComparedPart(name, ComparableAnswer.NO, None, f"{b} no longer has it")
        elif name not in old:
            yield ComparedPart(name, ComparableAnswer.YES, Fraction(0), f"{a} does not have it yet")
        elif old[name] == new[name] and not name.startswith(
            "dataset/"
        ):  # its rows may be in a file next to it
            equal += 1
        else:
            sides = [read_side(f"{name}@{word}", settings, store) for word in (a, b)]
            yield judge_diff(name, compare_sides((sides[0], sides[1]), store, None))
    if equal:
        yield ComparedPart(
            count_noun(equal, "artifact"), ComparableAnswer.YES, Fraction(0), "the same content"
        )
