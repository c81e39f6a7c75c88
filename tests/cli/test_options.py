"""An option of a command is a field of one value, which goes from the command line to the job as it is."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

import click
import pytest

from evalstore.agreement import MeasurementRequest, NoiseRequest, ReplacementRequest
from evalstore.audits import AuditOptions
from evalstore.cli.audit import command as audit
from evalstore.cli.judge import measure_noise, replace_model, validate
from evalstore.cli.judging import JudgeOption
from evalstore.cli.migrate import command as migrate
from evalstore.cli.score import command as score
from evalstore.migration import MigrationOptions
from evalstore.scoring import ScoringOptions

OUTPUT = frozenset({"format", "quiet", "verbose"})
WRITING = frozenset({"no_write", "dry_run"})


class Case(NamedTuple):
    """A command, the type of its options, its own parameters beside them, and the fields that no option fills."""

    command: click.Command
    type: type[Any]
    own: frozenset[str]
    made: frozenset[str]


CASES = {
    "score": Case(
        score,
        ScoringOptions,
        frozenset(
            ["dataset", "outputs", "out", "worktree", "fail_under", "min_scored", "corrected", "saves", "dry_run"]
        ),
        frozenset({"at", "today", "judges"}),
    ),
    "audit": Case(
        audit,
        AuditOptions,
        frozenset(["run_a", "run_b", "only", "question", "conditions", "max_ungraded", "undecided"]),
        frozenset({"moved", "judges"}),
    ),
    "migrate": Case(
        migrate,
        MigrationOptions,
        frozenset(["paths", "into", "strict", "allow", "report"]),
        frozenset({"watch", "watch_survey"}),
    ),
    "judge validate": Case(validate, MeasurementRequest, WRITING | {"check"}, frozenset()),
    "judge noise": Case(measure_noise, NoiseRequest, WRITING, frozenset()),
    "judge replace": Case(
        replace_model,
        ReplacementRequest,
        WRITING | {"against", "threshold", "variables", "endpoint_key"},
        frozenset(),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_options_of_a_command_are_the_fields_of_a_value(case: Case) -> None:
    names = {str(param.name) for param in case.command.params if not isinstance(param, JudgeOption)}
    options = names - case.own - OUTPUT
    assert {field.name for field in fields(case.type)} == options | case.made
