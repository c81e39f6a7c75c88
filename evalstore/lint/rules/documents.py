"""The rules about files, names, schemas, references and settings, a row a rule."""

from __future__ import annotations

from evalstore.lint.rules.rule import ValidationRule
from evalstore.model import Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

DOCUMENT_RULES = (
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
        "format-foreign",
        _ERROR,
        "is not an artifact: {reason}",
        "{hint}",
        "A file of another tool is migrated first: what its own grader reads is not what a rubric or a dataset has.",
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
        "{name} does not belong here",
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
        "{found} is not a release",
        "pin a release: {name}@<version>",
        "It means other content in every clone and on every day.",
    ),
    ValidationRule(
        "reference-unreleasable",
        _ERROR,
        "{found} is not a release, and a release may name nothing else",
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
