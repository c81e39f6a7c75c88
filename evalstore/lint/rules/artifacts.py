"""The rules about what rubrics, judges and datasets say, a row a rule."""

from __future__ import annotations

from evalstore.lint.rules.rule import ValidationRule
from evalstore.model import Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

ARTIFACT_RULES = (
    # Rubrics.
    ValidationRule(
        "check-id-duplicate",
        _ERROR,
        "duplicate check id {found} (first on line {line})",
        "rename one of them",
        "`weights`, `required` and reports refer to checks by id.",
    ),
    ValidationRule(
        "weight-without-check",
        _WARNING,
        "`weights` names an unknown check: `{found}`",
        "{hint}",
        "The weight is ignored, and the check it was meant for keeps weight 1.",
    ),
    ValidationRule(
        "gate-without-check",
        _WARNING,
        "`required` names an unknown check: `{found}`",
        "{hint}",
        "A required check that does not exist never fails the rubric.",
    ),
    ValidationRule(
        "weights-zero",
        _ERROR,
        "all weights add up to 0, so weighted_avg has no score",
        "give at least one check a weight above 0",
        "A weighted average divides by the sum of the weights.",
    ),
    ValidationRule(
        "check-problem", _WARNING, "{message}", "{hint}", "The schema allows it, but the check cannot do what it says."
    ),
    ValidationRule(
        "check-broken",
        _ERROR,
        "{message}",
        "{hint}",
        "The check cannot grade anything: every output would be unscored.",
    ),
    ValidationRule(
        "variable-unfilled",
        _WARNING,
        "the judge {judge} needs the variable `{found}`, which this check does not fill",
        "{hint}",
        "The judge would get a prompt with a gap in it.",
    ),
    ValidationRule(
        "variable-unknown",
        _WARNING,
        "no judge of this check reads the variable `{found}`",
        "{hint}",
        "The value is ignored, and the variable it was meant for stays empty.",
    ),
    ValidationRule(
        "rubric-partial",
        _WARNING,
        "the rubric is incomplete: {checks} of its source could not be migrated",
        "write checks for them, or remove x_unmapped if they do not matter",
        "The rubric grades less than its source did.",
    ),
    # Judges.
    ValidationRule(
        "template-variable-unfilled",
        _WARNING,
        "nothing fills {{{{ {found} }}}} in the template",
        "{hint}",
        "The judge would get a prompt with a gap in it.",
    ),
    ValidationRule("template-malformed", _ERROR, "{message}", "{hint}", "The judge would get a broken prompt."),
    ValidationRule(
        "template-output-unread",
        _ERROR,
        "the template does not show the output",
        "write {{{{ output }}}} where the answer belongs",
        "The judge could not tell one answer from another.",
    ),
    ValidationRule(
        "judge-unvalidated",
        _WARNING,
        "this judge has not been validated against people: {missing}",
        "measure it on labelled answers: evalstore judge validate",
        "Until a judge is measured, nobody knows how often it is right.",
    ),
    ValidationRule(
        "judge-validation-stale",
        _WARNING,
        "the validation is out of date: {why}",
        "measure it again: evalstore judge validate (judge_max_age_days sets the age limit)",
        "The provider may have changed the model, or an edit the judge, since the rates were measured.",
    ),
    ValidationRule(
        "judge-no-better-than-baseline",
        _WARNING,
        "this judge does no better than a constant answer: TPR {tpr}, TNR {tnr}",
        "rewrite the template, then measure it again: evalstore judge validate",
        "Its verdicts do not separate good answers from bad ones.",
    ),
    ValidationRule(
        "judge-sample-small",
        _WARNING,
        "the validation used {found} labelled rows, fewer than {least}",
        "label more good and bad answers, then measure it again: evalstore judge validate",
        "A rate from a few rows can be luck.",
    ),
    ValidationRule(
        "judge-model-retires",
        _WARNING,
        "the model of this judge {when} (today is {today})",
        "choose another model, validate the judge with it, and release a new version",
        "Once the model is gone, nothing that it graded can be graded again.",
    ),
    ValidationRule(
        "judge-date-malformed",
        _WARNING,
        "{found} is not a date",
        "write it as 2026-09-01",
        "The age of a validation and the time left for a model are computed from it.",
    ),
    ValidationRule(
        "judge-rate-outside",
        _WARNING,
        "{name} is {found}, but a rate is between 0 and 1",
        "write 93 % as 0.93",
        "TPR and TNR are shares of 1.",
    ),
    ValidationRule(
        "reply-pattern-loose",
        _WARNING,
        "a reply that merely mentions {found} counts as that answer",
        "match what only the judge writes, as in 'VERDICT: (pass|fail)', or ask the judge for JSON",
        "If a reply quotes the output, the output would decide its own score.",
    ),
    ValidationRule(
        "reply-pattern-idle",
        _WARNING,
        "its first group cannot match a {wanted}",
        "let the first group match what the template asks the judge to write, in upper and lower case",
        "Only replies in JSON can be read; any other reply leaves the check unscored.",
    ),
    # Datasets.
    ValidationRule(
        "question-id-duplicate",
        _ERROR,
        "duplicate question id {found} (first on line {line})",
        "rename one of them",
        "An output could answer either question, so `score` and `bump` refuse the dataset.",
    ),
    ValidationRule(
        "bundle-broken",
        _WARNING,
        "the schema of the bundle {found} cannot be used: {message}",
        "{hint}",
        "Rows of this bundle are not checked.",
    ),
    ValidationRule(
        "bundle-unknown",
        _WARNING,
        "the bundle {found} has no schema",
        "{hint}",
        "A bundle needs no schema, but rows of a misspelt one are not checked.",
    ),
    ValidationRule(
        "question-unscored",
        _WARNING,
        "{found} names no rubric",
        "{hint}",
        "Nothing grades the answer, so no score includes it.",
    ),
    ValidationRule(
        "question-value-missing",
        _WARNING,
        "{question} has no `{found}`, which the check {check} of {rubric} reads",
        "write it, as other questions do, or leave it empty on purpose",
        "The check is unscored for this question, and its score is that of the other checks.",
    ),
    ValidationRule(
        "question-value-absent",
        _WARNING,
        "no question has `{found}`, which {rubric} reads",
        "write it in each question, or once under `defaults:`",
        "The check that reads it is unscored for every question.",
    ),
    ValidationRule(
        "question-value-misfit",
        _WARNING,
        "`{found}` {message}",
        "the check {check} of {rubric} takes its value from here",
        "The check is unscored for this question: it could not be graded.",
    ),
    ValidationRule(
        "dataset-empty",
        _WARNING,
        "the dataset has no questions",
        "see an example: evalstore explain questions",
        "There is nothing to score.",
    ),
    ValidationRule(
        "dataset-unscored",
        _WARNING,
        "no question names a rubric, and the dataset has no default",
        "{hint}",
        "Nothing grades the answers unless `evalstore score --rubric` names a rubric.",
    ),
)
