"""The rules about files, names, schemas, references and settings, one per row."""

from __future__ import annotations

from evalstore.model import Severity
from evalstore.model.findings import ValidationRule
from evalstore.model.refs import ID_FORM

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

DOCUMENT_RULES = (
    # An error means that the file cannot be graded or released, and fails every run; settings
    # change warnings only.
    ValidationRule(
        "file-unreadable",
        _ERROR,
        "{message}",
        "{hint}",
        "A file that cannot be read cannot be checked or scored.",
    ),
    ValidationRule(
        "link-not-followed",
        _ERROR,
        "is a symbolic link, which evalstore does not follow",
        "replace the link with the file itself",
        "A link can point outside the store, and git stores the link, not the file.",
    ),
    ValidationRule(
        "document-malformed",
        _ERROR,
        "{message}",
        "{hint}",
        "Two programs could read the file differently.",
    ),
    ValidationRule(
        "row-malformed",
        _ERROR,
        "{message}",
        "{hint}",
        "The question on a broken line would never be asked.",
    ),
    ValidationRule(
        "kind-unknown",
        _ERROR,
        "is not a rubric, a judge or a dataset",
        "a rubric has `checks` and `scoring`, a judge `template`, a dataset `questions` or `rows`",
        "Only artifacts can be validated; `evalstore migrate` reads the formats of other tools.",
    ),
    ValidationRule(
        "format-foreign",
        _ERROR,
        "is not an artifact: {reason}",
        "{hint}",
        (
            "evalstore does not read another tool's format; `evalstore migrate` turns the file "
            "into artifacts."
        ),
    ),
    ValidationRule(
        "version-not-text",
        _ERROR,
        "the version is {what}, not a string",
        'put it in quotes: version: "{example}"',
        "As a number, 1.10 is 1.1: another version.",
    ),
    # Names and versions.
    ValidationRule(
        "id-malformed",
        _ERROR,
        "{found} is not a valid id",
        ID_FORM,
        "An id is a file name, a tag and a key in every run.",
    ),
    ValidationRule(
        "id-not-file-name",
        _ERROR,
        "the id {found} does not match the file name",
        "{hint}",
        "evalstore finds an artifact by its file name, so no reference to this id would work.",
    ),
    ValidationRule(
        "id-twin",
        _WARNING,
        "this id and {twin} differ only in case",
        "rename one of the two",
        "On many systems both names mean the same file.",
    ),
    ValidationRule(
        "version-two-part",
        _WARNING,
        "the version {found} has two parts and is read as {found}.0",
        'write "{found}.0"',
        "Tags and pins have three parts.",
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
        "{name} is not allowed here",
        "{hint}",
        "It contradicts another key, or nothing reads it.",
    ),
    ValidationRule(
        "key-misspelt",
        _WARNING,
        "unknown key `{found}`",
        "did you mean `{guess}`?",
        "Extra keys are allowed, so a misspelt key is silently ignored.",
    ),
    ValidationRule(
        "key-unread",
        _WARNING,
        "the key `{found}` has no effect here",
        "{hint}",
        "evalstore silently ignores it.",
    ),
    ValidationRule(
        "value-type-wrong",
        _ERROR,
        "{name} must be {wanted}, not {found}",
        "{hint}",
        "A value of another type has no meaning here.",
    ),
    ValidationRule(
        "value-not-allowed",
        _ERROR,
        "{name} must be {wanted}, not {found}",
        "{hint}",
        "Only the listed values have a meaning.",
    ),
    ValidationRule(
        "value-out-of-range", _ERROR, "{name} {problem}", "{hint}", "The schema sets a limit."
    ),
    ValidationRule(
        "value-malformed",
        _ERROR,
        "invalid value for {name}: {found}",
        "{hint}",
        "The schema defines the format.",
    ),
    ValidationRule(
        "schema-violated",
        _ERROR,
        "{name} violates `{keyword}` in its schema",
        "{hint}",
        "The schema requires something else.",
    ),
    ValidationRule(
        "check-kind-unknown",
        _ERROR,
        "unknown check kind {found}",
        "{hint}",
        "A check of an unknown kind cannot be scored.",
    ),
    # References.
    ValidationRule(
        "reference-malformed",
        _ERROR,
        "{message}",
        "{hint}",
        "A malformed reference cannot be resolved.",
    ),
    ValidationRule(
        "reference-kind-wrong",
        _ERROR,
        "{name} needs a {wanted}, but {found} is not one",
        "write {wanted}/<id>@<version>",
        "Only an artifact of that kind works here.",
    ),
    ValidationRule(
        "reference-dangling",
        _ERROR,
        "{message}",
        "{hint}",
        "Scoring needs the artifact that it names.",
    ),
    ValidationRule(
        "reference-broken",
        _ERROR,
        "{found} cannot be used: {message}",
        "{hint}",
        "Scoring needs the artifact that it names.",
    ),
    ValidationRule(
        "reference-unpinned",
        _WARNING,
        "{found} names no version, so it follows the latest release",
        "{hint}",
        "Scores can change although this file does not.",
    ),
    ValidationRule(
        "reference-floating",
        _WARNING,
        "{found} floats: a new release can change what it means",
        "{hint}",
        "Scores can change although this file does not.",
    ),
    ValidationRule(
        "reference-floating-inside",
        _WARNING,
        "{found} refers to {inner}, which floats",
        "pin a release whose own references are exact, or lock it: evalstore lock",
        (
            "The pin is exact, but the artifact's own reference is not: scores can change "
            "although this file does not."
        ),
    ),
    ValidationRule(
        "pin-behind",
        _WARNING,
        "{found} is graded as before {name} changed at the source of both: {version} is not pinned",
        "evalstore bump --all --dependents moves the pin",
        "A source that was edited is graded by what it said before.",
    ),
    ValidationRule(
        "target-unreleased",
        _WARNING,
        "{found} is not a release",
        "pin a release: {name}@<version>",
        "Its content differs from clone to clone and from day to day.",
    ),
    ValidationRule(
        "reference-unreleasable",
        _ERROR,
        "{found} is not a release, and a release may refer only to releases",
        "{hint}",
        "Its content differs from clone to clone and from day to day.",
    ),
    ValidationRule(
        "references-unchecked",
        _INFO,
        "{found} was not checked: it is not among the given files, and this is not a store",
        "run evalstore validate inside a store to check references to releases",
        "Outside a store, evalstore cannot know which versions exist.",
        once=True,
    ),
    ValidationRule(
        "composite-nested",
        _ERROR,
        "{found} has a composite check itself; composites can be only one level deep",
        "refer to the inner rubric, or copy its checks",
        "Neither rubric could explain a score that comes through both.",
    ),
    ValidationRule(
        "composite-cycle",
        _ERROR,
        "the composites form a cycle: {path}",
        "remove one of these references",
        "A cycle has no score.",
    ),
    # Files.
    ValidationRule(
        "file-ignored",
        _WARNING,
        "no command reads this file: {reason}",
        "{hint}",
        "It looks like an artifact, but evalstore never reads it.",
    ),
    # Settings, and acceptances.
    ValidationRule(
        "rule-unknown",
        _ERROR,
        "unknown rule {found}",
        "{hint}",
        "The setting has no effect, and the rule it was meant for keeps its level.",
    ),
    ValidationRule(
        "rule-level-wrong",
        _ERROR,
        "{found} has no meaning",
        "{hint}",
        "A rule of files has a severity, a rule of changes the bump that it requires.",
    ),
    ValidationRule(
        "rule-level-fixed",
        _WARNING,
        "{found} has no effect: what {name} finds cannot be graded or released",
        "remove the entry, and fix what the rule finds",
        "The entry would suggest that the error is allowed.",
    ),
    ValidationRule(
        "rule-set-unknown",
        _ERROR,
        "this version of evalstore has no rule set {found}",
        "{hint}",
        "Without its rule set, evalstore cannot judge any change.",
    ),
    ValidationRule(
        "cosmetic-key-read",
        _WARNING,
        "scoring reads `{found}`, so it cannot be cosmetic",
        "remove it from the list; to accept a single change, use evalstore accept",
        "Only a key that nothing reads can be cosmetic, so the entry has no effect.",
    ),
    ValidationRule(
        "acceptance-malformed",
        _ERROR,
        "{message}",
        "{hint}",
        "This file can lower levels: until the entry is fixed, evalstore judges no change.",
    ),
    ValidationRule(
        "accept-unused",
        _WARNING,
        "the acceptance of {found} matches no change of {artifact}",
        "remove the entry: the change was reverted or edited since",
        "A leftover acceptance could let a change through that nobody reviewed.",
    ),
    ValidationRule(
        "accept-expired",
        _WARNING,
        "the acceptance of {found} in {artifact} expired on {until}",
        (
            "release the change at its own level, or renew the acceptance: evalstore accept "
            '{print} --reason "…"'
        ),
        "After that date, the change counts at its own level again.",
    ),
)
