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
        "the check id {found} is taken (first on line {line})",
        "give one of the two another id",
        "Weights, gates and reports name checks by id.",
    ),
    ValidationRule(
        "weight-without-check",
        _WARNING,
        "the weight of `{found}` names no check",
        "{hint}",
        "It is ignored, and the check that was meant weighs 1.",
    ),
    ValidationRule(
        "gate-without-check",
        _WARNING,
        "the gate `{found}` names no check",
        "{hint}",
        "A gate that names no check never closes.",
    ),
    ValidationRule(
        "weights-zero",
        _ERROR,
        "the weights add up to 0, so weighted_avg has no score",
        "give at least one check a weight above 0",
        "Nothing can be divided by 0.",
    ),
    ValidationRule(
        "check-problem", _WARNING, "{message}", "{hint}", "The schema allows it, but the check cannot do what it says."
    ),
    ValidationRule(
        "check-broken", _ERROR, "{message}", "{hint}", "No output can be graded by it: every one would be unscored."
    ),
    ValidationRule(
        "variable-unfilled",
        _WARNING,
        "the judge {judge} needs the variable `{found}`, which this check does not fill",
        "{hint}",
        "The judge would read a prompt with a hole in it.",
    ),
    ValidationRule(
        "variable-unknown",
        _WARNING,
        "no judge of this check reads the variable `{found}`",
        "{hint}",
        "It is ignored, and the variable that was meant stays empty.",
    ),
    ValidationRule(
        "rubric-partial",
        _WARNING,
        "the rubric is partial: {checks} of its source could not be expressed",
        "write checks for them, or remove x_unmapped when they do not matter",
        "The score says less than the source's grader did.",
    ),
    # Judges.
    ValidationRule(
        "template-variable-unfilled",
        _WARNING,
        "nobody fills {{{{ {found} }}}} of the template",
        "{hint}",
        "The judge would read a prompt with a hole in it.",
    ),
    ValidationRule(
        "template-malformed", _ERROR, "{message}", "{hint}", "The judge would read a prompt that nobody wrote."
    ),
    ValidationRule(
        "template-output-unread",
        _ERROR,
        "the template does not read the output",
        "write {{{{ output }}}} where the answer belongs",
        "The judge would say the same of every answer.",
    ),
    ValidationRule(
        "judge-unvalidated",
        _WARNING,
        "nobody has compared this judge with people: {missing}",
        "evalstore judge validate measures it on labelled answers, and writes tpr, tnr and the rest into its file",
        "An unchecked judge is an opinion.",
    ),
    ValidationRule(
        "judge-validation-stale",
        _WARNING,
        "the validation does not speak of this judge as it is today: {why}",
        "evalstore judge validate measures it again; judge_max_age_days says how old it may be",
        "Models change under a judge that stays the same, and judges under a validation that does.",
    ),
    ValidationRule(
        "judge-no-better-than-baseline",
        _WARNING,
        "this judge tells good from bad no better than a constant answer: TPR {tpr}, TNR {tnr}",
        "rewrite its template, and measure it again: evalstore judge validate",
        "What passes everything grades nothing.",
    ),
    ValidationRule(
        "judge-sample-small",
        _WARNING,
        "the validation rests on {found} labelled rows, fewer than {least}",
        "label more answers, good and bad ones, and measure it again: evalstore judge validate",
        "A rate of few rows may be luck.",
    ),
    ValidationRule(
        "judge-model-retires",
        _WARNING,
        "the model of this judge is switched off {when} (today is {today})",
        "choose another model, validate the judge with it, and release that as a new version",
        "Without its model nothing that it graded can be graded again.",
    ),
    ValidationRule(
        "judge-date-malformed",
        _WARNING,
        "{found} is not a date",
        "write it as 2026-09-01",
        "Nobody can say whether the validation is stale.",
    ),
    ValidationRule(
        "judge-rate-outside",
        _WARNING,
        "{name} is {found}; a rate is between 0 and 1",
        "write 93 % as 0.93",
        "TPR and TNR are shares.",
    ),
    ValidationRule(
        "reply-pattern-loose",
        _WARNING,
        "a reply that only mentions {found} is read as that answer",
        "let it find what the judge alone writes, as in 'VERDICT: (pass|fail)', or let the judge answer in JSON",
        "A reply that quotes the output would be scored by what the output says.",
    ),
    ValidationRule(
        "reply-pattern-idle",
        _WARNING,
        "its first group can match no {wanted}",
        "let the first group match what the judge is asked to write, upper and lower case alike",
        "Only a reply in JSON is read: every other is an error, which leaves the check without a score.",
    ),
    # Datasets.
    ValidationRule(
        "question-id-duplicate",
        _ERROR,
        "the question id {found} is taken (first on line {line})",
        "give one of the two another id",
        "Nobody could say which of the two an output answers, so `score` and `bump` refuse it.",
    ),
    ValidationRule(
        "bundle-broken",
        _WARNING,
        "the schema of the bundle {found} cannot be used: {message}",
        "{hint}",
        "Its rows go unchecked.",
    ),
    ValidationRule(
        "bundle-unknown",
        _WARNING,
        "there is no schema of the bundle {found}",
        "{hint}",
        "A bundle without a schema is allowed; a misspelt one goes unchecked.",
    ),
    ValidationRule(
        "question-unscored",
        _WARNING,
        "{found} names no rubric",
        "{hint}",
        "Nothing grades its answer: it is left out of every score.",
    ),
    ValidationRule(
        "dataset-empty",
        _WARNING,
        "it holds no question",
        "evalstore explain questions shows one",
        "Nothing can be scored with it, so that a gate over it has nothing to say.",
    ),
    ValidationRule(
        "dataset-unscored",
        _WARNING,
        "no question names a rubric, and there is no default",
        "{hint}",
        "Nothing grades its answers unless `evalstore score --rubric` names what does.",
    ),
)
