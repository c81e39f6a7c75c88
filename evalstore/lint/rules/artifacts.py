"""The rules about the content of rubrics, judges and datasets, one per row."""

from __future__ import annotations

from evalstore.model import Severity
from evalstore.model.findings import ValidationRule

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

ARTIFACT_RULES = (
    # All kinds.
    ValidationRule(
        "renamed-from-unknown",
        _WARNING,
        "`renamed_from` names no release to go on from: {message}",
        "{hint}",
        (
            "The first release of a renamed artifact goes on from the releases of its earlier "
            "id, where there are any."
        ),
    ),
    ValidationRule(
        "renamed-from-missing",
        _WARNING,
        "it is what {former} was, and does not say that it was renamed",
        "write `renamed_from: {former}`, as `evalstore validate --fix` does",
        "Without the line its history, its pins and the bump of its next release begin anew.",
        example="rubrics/manner.yaml with the content of rubric/tone, whose file is gone",
    ),
    ValidationRule(
        "text-cut",
        _WARNING,
        "the text ends before {found}, which YAML reads as a comment",
        "put it all in quotes, as in '{written}'; a comment begins with # and a blank",
        "What follows the # is a comment, so a shorter text is looked for or asked.",
        example="values:\n  - sets #cache",
    ),
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
        "required-without-check",
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
        "weight-ineffective",
        _WARNING,
        "{why}",
        "{hint}",
        "The weight looks as if the check mattered.",
        example="weights: {a: 10, b: 1} with threshold 0.7: b never turns the verdict",
    ),
    ValidationRule(
        "check-problem",
        _WARNING,
        "{message}",
        "{hint}",
        "The schema allows it, but the check cannot do what it says.",
    ),
    ValidationRule(
        "check-broken",
        _ERROR,
        "{message}",
        "{hint}",
        "The check cannot grade anything: every output would be unscored.",
    ),
    ValidationRule(
        "phrase-short",
        _WARNING,
        "{found} is found inside longer {where}, too",
        "write more of the text, or use a check of kind regex with \\b on both sides",
        "A text of one or two letters is in most answers, right or wrong.",
        example="values: [no], which is in: I do not know",
    ),
    ValidationRule(
        "phrase-in-question",
        _WARNING,
        "{found} is in {word} of the question, so an answer that repeats it has it",
        "write more of the text, or use a check of kind regex with \\b on both sides",
        "The answer would pass for a word that it took from the question.",
        example="input: Which category is it? and must_name: [cat]",
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
    # Rubrics and judges.
    ValidationRule(
        "example-failed",
        _ERROR,
        "example {number} expects {expected} and gets {got}{why}",
        "change the {kind}, or what the example expects",
        "An example says what somebody decided about an output: now the grade is another one.",
        example="examples: [{output: I cannot help., verdict: fail}], and the rubric passes it",
    ),
    # Judges.
    ValidationRule(
        "template-variable-unfilled",
        _WARNING,
        "nothing fills {{{{ {found} }}}} in the template",
        "{hint}",
        "The judge would get a prompt with a gap in it.",
    ),
    ValidationRule(
        "template-malformed", _ERROR, "{message}", "{hint}", "The judge would get a broken prompt."
    ),
    ValidationRule(
        "placeholder-unfilled",
        _WARNING,
        "nothing fills {found}: the judge reads it as it is written",
        "{hint}",
        "Only {{ name }} in a template is filled; the judge would not see what was meant.",
        example="template: Is ${output} right? {{ output }}",
    ),
    ValidationRule(
        "template-output-unread",
        _ERROR,
        "the template does not show the output",
        "write {{{{ output }}}} where the answer belongs",
        "The judge could not tell one answer from another.",
        example="Is the answer to {{ input }} right?",
    ),
    # What the words of a prompt leave open, or get wrong.
    ValidationRule(
        "template-reference-unread",
        _WARNING,
        "the template {why}, but does not show a reference",
        "write {{{{ expected }}}} where the judge is to compare with it",
        (
            "The judge answers from what its model happens to know, and people who labelled the "
            "rows saw more."
        ),
        example="Does it agree with the reference answer? {{ output }}",
    ),
    ValidationRule(
        "criterion-vague",
        _WARNING,
        "only {found} says what counts",
        "say what an answer must do to pass, and what makes it fail",
        "Everybody, and every model, means something else by it, so scores move with the model.",
        example="Is this a good answer? {{ output }}",
    ),
    ValidationRule(
        "criterion-doubled",
        _WARNING,
        "two questions in one: {found}",
        "{hint}",
        "An answer that meets one of them has no right score, and nobody sees which one failed.",
        example="Is the answer accurate and polite?",
    ),
    ValidationRule(
        "statement-repeated",
        _WARNING,
        "statement {number} asks the same",
        "remove one of the two; what matters more has a higher `weight`",
        "It is asked and paid for twice, and counts twice in the score.",
        example="each: [names the fee, names the date, Names the fee.]",
    ),
    ValidationRule(
        "scale-unexplained",
        _WARNING,
        "no words say what the numbers of the scale {found} mean",
        "say what the lowest and the highest number mean, or use `score_type: levels`",
        "Without words each model has a scale of its own.",
        example="Rate the summary from 1 to 10. {{ output }}",
    ),
    ValidationRule(
        "level-unexplained",
        _WARNING,
        "the template never mentions the level {found}",
        "say in the template when an answer has this level",
        (
            "The judge can answer only with levels that it knows; a reply with another word is "
            "unscored."
        ),
        example="level_names: [wrong, partial, right] and a template that asks for right or wrong",
    ),
    ValidationRule(
        "reply-not-allowed",
        _WARNING,
        "the prompt offers the answer {found}, which `response_format: json` does not allow",
        "write response_format: json_or_na",
        (
            "The endpoint holds the model to the values of the scale, so it has to choose one "
            "where none applies."
        ),
        example="Answer n/a if it names no drug, with response_format: json",
    ),
    ValidationRule(
        "criterion-style-cued",
        _WARNING,
        "rewards length or style: {found}",
        "say what the content must have, or give style a check of its own",
        "Models as judges prefer long and polished texts anyway; a cue makes it worse.",
        example="Longer and more detailed answers are better.",
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
        (
            "The provider may have changed the model, or an edit the judge, since the rates were "
            "measured."
        ),
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
        "secret-written",
        _ERROR,
        "{found} holds a secret, and whoever reads the repository has it",
        (
            "withdraw it where it was issued, and give the new one as EVALSTORE_JUDGE_KEY, in "
            "the environment"
        ),
        (
            "A release is kept for ever, and evalstore sends the key of an endpoint from the "
            "environment alone."
        ),
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
        (
            "let the first group match what the template asks the judge to write, in upper and "
            "lower case"
        ),
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
        "question-key-conflict",
        _WARNING,
        "the question's `{found}` is {wanted} here, and {other} for {check}",
        "give one of the two a key of its own",
        (
            "A question has one value under a key: what fits one check leaves the other "
            "unscored, or means something else."
        ),
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
