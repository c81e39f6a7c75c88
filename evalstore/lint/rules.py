"""Every validation rule, a row each: its id, severity, sentence, hint, and why it matters."""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.model import Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """One row: `message` and `hint` are templates over a note's facts; `once` keeps the first finding of a run."""

    id: str
    severity: Severity
    message: str
    hint: str
    why: str
    once: bool = False


_ROWS = (
    # An error says that the file cannot be graded or released, and fails every run; settings change warnings only.
    # What could not be read at all.
    ValidationRule(
        "file-unreadable", _ERROR, "{message}", "{hint}", "What cannot be read can be neither checked nor scored."
    ),
    ValidationRule(
        "link-not-followed",
        _ERROR,
        "is a symbolic link, which is not followed",
        "put the file itself here",
        "A link can point out of the store; git keeps its text, not the file.",
    ),
    ValidationRule(
        "document-malformed", _ERROR, "{message}", "{hint}", "A file that two readers read differently has no meaning."
    ),
    ValidationRule("row-malformed", _ERROR, "{message}", "{hint}", "A broken line is a question that is never asked."),
    ValidationRule(
        "kind-unknown",
        _ERROR,
        "is neither a rubric nor a judge nor a dataset",
        "a rubric has `checks` and `scoring`, a judge `template`, a dataset `questions` or `rows`",
        "Only artifacts can be validated; `evalstore migrate` reads the formats of others.",
    ),
    ValidationRule(
        "version-not-text",
        _ERROR,
        "the version is {what}, not a text",
        'put it in quotes: version: "{example}"',
        "As a number 1.10 is 1.1, so the version that was meant is lost.",
    ),
    # Names and versions.
    ValidationRule(
        "id-malformed",
        _ERROR,
        "{found} is not an id",
        "an id is a to z, digits and _, begins with a letter, at most 64; device names of Windows are none",
        "An id is a file name, a tag and a key in every run.",
    ),
    ValidationRule(
        "id-not-file-name",
        _ERROR,
        "the id {found} is not the file's name",
        "{hint}",
        "A reference is resolved by the file's name; the artifact would not be found.",
    ),
    ValidationRule(
        "id-twin",
        _WARNING,
        "this id and {twin} differ only in case",
        "rename one of the two",
        "On many systems the two are one file.",
    ),
    ValidationRule(
        "version-two-part",
        _WARNING,
        "the version {found} has two parts and is read as {found}.0",
        'write "{found}.0"',
        "Tags and pins carry three parts.",
    ),
    ValidationRule(
        "version-malformed",
        _ERROR,
        "{found} is not a semantic version",
        "write MAJOR.MINOR.PATCH, as in 1.2.0",
        "Only semantic versions can be ordered and released.",
    ),
    # Against the schemas.
    ValidationRule("key-missing", _ERROR, "{name} is missing", "{hint}", "The schema requires it."),
    ValidationRule(
        "key-not-allowed",
        _ERROR,
        "{name} cannot stand here",
        "{hint}",
        "It contradicts another key, or nothing reads it.",
    ),
    ValidationRule(
        "key-misspelt",
        _WARNING,
        "nothing reads the key `{found}`",
        "did you mean `{guess}`?",
        "Extra keys are allowed, so a misspelt one is ignored in silence.",
    ),
    ValidationRule(
        "key-unread",
        _WARNING,
        "nothing reads the key `{found}` here",
        "{hint}",
        "What it asks for is ignored in silence.",
    ),
    ValidationRule(
        "value-type-wrong",
        _ERROR,
        "{name} must be {wanted}, not {found}",
        "{hint}",
        "Another type means nothing here.",
    ),
    ValidationRule(
        "value-not-allowed", _ERROR, "{name} must be {wanted}, not {found}", "{hint}", "The set of values is closed."
    ),
    ValidationRule("value-out-of-range", _ERROR, "{name} {problem}", "{hint}", "The schema sets a limit."),
    ValidationRule(
        "value-malformed",
        _ERROR,
        "{name} is {found}, which does not have the form it needs",
        "{hint}",
        "The schema sets its form.",
    ),
    ValidationRule(
        "schema-violated",
        _ERROR,
        "{name} does not meet `{keyword}` of its schema",
        "{hint}",
        "The schema asks for something else.",
    ),
    ValidationRule(
        "check-kind-unknown",
        _ERROR,
        "there is no check kind {found}",
        "{hint}",
        "A check that no kind grades is never scored.",
    ),
    # References.
    ValidationRule(
        "reference-malformed", _ERROR, "{message}", "{hint}", "A reference that cannot be read leads nowhere."
    ),
    ValidationRule(
        "reference-kind-wrong",
        _ERROR,
        "{name} wants a {wanted}, and {found} is none",
        "write {wanted}/<id>@<version>",
        "The artifact it names cannot do what is asked of it here.",
    ),
    ValidationRule("reference-dangling", _ERROR, "{message}", "{hint}", "What it names cannot be scored with."),
    ValidationRule(
        "reference-broken",
        _ERROR,
        "{found} cannot be used: {message}",
        "{hint}",
        "What it names cannot be scored with.",
    ),
    ValidationRule(
        "reference-unpinned",
        _WARNING,
        "{found} names no version, so it follows the latest release",
        "{hint}",
        "Scores can move while nothing here changes.",
    ),
    ValidationRule(
        "reference-floating",
        _WARNING,
        "{found} floats: a new release can change what it names",
        "{hint}",
        "Scores can move while nothing here changes.",
    ),
    ValidationRule(
        "reference-floating-inside",
        _WARNING,
        "{found} leads to {inner}, which floats",
        "pin a release whose own references are exact, or hold it: evalstore lock",
        "An exact version does not say what it is scored with: scores can move while nothing here changes.",
    ),
    ValidationRule(
        "target-unreleased",
        _WARNING,
        "{found} is no release",
        "pin a release: {name}@<version>",
        "It means other content in every clone and on every day.",
    ),
    ValidationRule(
        "reference-unreleasable",
        _ERROR,
        "{found} is no release, and a release may name nothing else",
        "{hint}",
        "It means other content in every clone and on every day.",
    ),
    ValidationRule(
        "references-unchecked",
        _INFO,
        "{found} is not among the files given, and there is no store to look in",
        "validate inside a store to check references to released versions",
        "Outside a store nobody knows which versions there are.",
        once=True,
    ),
    ValidationRule(
        "composite-nested",
        _ERROR,
        "{found} holds a composite itself; composites go one level deep",
        "refer to the inner rubric, or copy its checks",
        "A score through two rubrics can be explained by neither.",
    ),
    ValidationRule(
        "composite-cycle",
        _ERROR,
        "the composites lead in a circle: {path}",
        "cut one of them",
        "A circle has no score.",
    ),
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
        "{found} is no date",
        "write it as 2026-09-01",
        "Whether the validation is stale cannot be told.",
    ),
    ValidationRule(
        "judge-rate-outside",
        _WARNING,
        "{name} is {found}; a rate lies between 0 and 1",
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
        _WARNING,
        "the question id {found} is taken (first on line {line})",
        "give one of the two another id",
        "Runs are compared question by question, by id.",
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
    # Files.
    ValidationRule(
        "file-ignored",
        _WARNING,
        "no command reads this file: {reason}",
        "{hint}",
        "It looks like an artifact and is none, so what it says has no effect.",
    ),
    # Settings, and what people accepted.
    ValidationRule(
        "rule-unknown",
        _ERROR,
        "no rule that a setting can change is called {found}",
        "{hint}",
        "A setting for no rule changes nothing, and the rule that was meant keeps its own level.",
    ),
    ValidationRule(
        "rule-level-wrong",
        _ERROR,
        "{found} means nothing",
        "{hint}",
        "Rules of files have a severity, rules of changes the bump that they ask for.",
    ),
    ValidationRule(
        "rule-level-fixed",
        _WARNING,
        "{found} lowers no error: what {name} finds can be neither graded nor released",
        "take the entry out, and mend what it finds",
        "A setting that looks as if it let something through makes people look no further.",
    ),
    ValidationRule(
        "rule-set-unknown",
        _ERROR,
        "this evalstore has no rule set {found}",
        "{hint}",
        "Without the rules that are asked for, no change can be judged.",
    ),
    ValidationRule(
        "cosmetic-key-read",
        _WARNING,
        "`{found}` is read by scoring, so it cannot be declared cosmetic",
        "take it out of the list; for one change there is evalstore accept",
        "Only keys that nothing reads can be declared; the declaration changes nothing.",
    ),
    ValidationRule(
        "acceptance-malformed",
        _ERROR,
        "{message}",
        "{hint}",
        "A file that lowers levels is read strictly: until this is mended, no change can be judged.",
    ),
    ValidationRule(
        "accept-unused",
        _WARNING,
        "no change of {artifact} needs this acceptance of {found}",
        "remove the entry; the change was taken back, or edited and is another one now",
        "An acceptance that outlives its change could excuse a change that nobody looked at.",
    ),
    ValidationRule(
        "accept-expired",
        _WARNING,
        "the acceptance of {found} in {artifact} ended on {until}",
        'release the change at its own level, or look again: evalstore accept {print} --reason "…"',
        "What was accepted for a while has its own level again.",
    ),
)

VALIDATION_RULES = {rule.id: rule for rule in _ROWS}
