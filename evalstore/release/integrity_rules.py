"""Every rule of lock and verify, one row each; a store's own settings cannot make them say less."""

from __future__ import annotations

from evalstore.errors import Place
from evalstore.lint.rules import ValidationRule
from evalstore.model import Finding, Severity
from evalstore.text import LONG_EXCERPT, make_excerpt

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

_ROWS = (
    # Tags, each by itself.
    ValidationRule(
        "tag-invalid",
        _ERROR,
        "the tag {tag} is not a release: it {what}",
        "a release is a tag of its own name on a commit; find out who made this one, then: git tag -d {tag}",
        "Other content takes the place of a release under its name.",
    ),
    ValidationRule(
        "release-invalid",
        _ERROR,
        "{ref} is not valid: {message}",
        "somebody moved it or made it by hand; {back}",
        "A tag is valid when the file at its commit has that id and version.",
    ),
    ValidationRule(
        "tag-ignored",
        _INFO,
        "the tag {tag} is not a release of this store: {why}",
        "",
        "It stands among the releases, and no reference can mean it.",
    ),
    ValidationRule(
        "object-missing", _ERROR, "{ref} cannot be looked at: {message}", "{hint}", "What is not here is never guessed."
    ),
    ValidationRule(
        "object-damaged", _ERROR, "{ref} cannot be read: {message}", "{hint}", "Other bytes stand under its id."
    ),
    # Tags against the ledgers.
    ValidationRule(
        "tag-moved",
        _ERROR,
        "{ref} is not what was released: {what}",
        "{back}",
        "Scores under this version no longer mean what they meant.",
    ),
    ValidationRule(
        "tag-missing",
        _ERROR,
        "{ref} was released, and its tag is not here",
        "{back}",
        "What pins it can no longer be scored again.",
    ),
    ValidationRule(
        "release-unpushed",
        _ERROR,
        "{tag} was never pushed to {remote}",
        "in a clone that has it: git push {remote} {ref}",
        "Every clone of it has the line in the ledger and not the release, so that verify fails there for good.",
    ),
    ValidationRule(
        "release-differs-there",
        _ERROR,
        "{tag} is another object on {remote}: {there}, and here {here}",
        "find out which of the two was released: git fetch {remote} {ref}:refs/tags/theirs/{tag}",
        "Two clones grade differently under one name.",
    ),
    ValidationRule(
        "tags-missing",
        _ERROR,
        "{count} of {all} releases have no tag here, as in a {clone} clone",
        "git fetch {fetch}, then verify again",
        "What is not here is never guessed.",
    ),
    ValidationRule(
        "release-unlisted",
        _ERROR,
        "the tag {tag} is there, and no ledger of a branch lists {ref}",
        "{why}, add to {path}: {line}",
        "A floating reference would follow whatever was tagged.",
    ),
    ValidationRule(
        "release-unrecorded",
        _INFO,
        "{name} has no ledger: only its tags say what was released",
        "evalstore bump begins one with the next release; evalstore lock records what is there",
        "A tag that moves leaves no trace in git.",
    ),
    # Versions against what changed.
    ValidationRule(
        "release-bump-too-small",
        _ERROR,
        "{ref} is a {said} bump, and what changed since {base} needs {needed}: {rules}",
        "evalstore diff {base} {ref} shows it; release it as {next} and pin that; where it was meant, an entry in "
        ".evalstore/accepted.yaml says why",
        "Who reads a smaller version compares scores across it.",
    ),
    ValidationRule(
        "release-bump-lowered",
        _INFO,
        "{ref} says {said} since {base} because the store counts less than the rules do: {what}",
        "",
        "What was overridden or accepted is shown wherever the result is.",
    ),
    ValidationRule(
        "release-bump-unknown",
        _WARNING,
        "cannot say whether the version of {ref} is high enough: {message}",
        "mend what it names, then verify again",
        "What cannot be compared is never taken for equal.",
    ),
    # Signatures, where the settings ask for them.
    ValidationRule(
        "signers-missing",
        _ERROR,
        "nobody can be told to have signed a release: {message}",
        "{hint}",
        "Who may release is said in a file that people review.",
    ),
    ValidationRule(
        "release-unsigned",
        _ERROR,
        "{ref} is not signed by an allowed signer: {what}",
        "find out who made the tag; if it is right, a signer makes it again: "
        "git tag -f -s {tag} {tag}^{{commit}} (with its message)",
        "A tag that anybody could have made is nobody's release.",
    ),
    # The ledgers themselves.
    ValidationRule(
        "ledger-unreadable",
        _ERROR,
        "the ledger of {name} cannot be read: {message}",
        "{hint}",
        "Without it a moved tag is invisible.",
    ),
    ValidationRule(
        "ledger-malformed",
        _ERROR,
        "this line is not a release",
        "a line is <version> <SHA-256 of the file>, and only evalstore bump writes it: git log -p {path}",
        "Nothing can be held against it.",
    ),
    ValidationRule(
        "ledger-repeated",
        _ERROR,
        "duplicate version {version} (first on line {line})",
        "keep the line that was released, as git log -p {path} shows",
        "A version is released once.",
    ),
    ValidationRule(
        "ledger-history-rewritten",
        _ERROR,
        "commit {commit} took from the ledger of {name} what was released: {lines}",
        "git show {commit} -- {path} shows them: put the lines back, and the tags that they are of",
        "A line and its tag that are rewritten together leave no other trace.",
    ),
    ValidationRule(
        "history-unreadable",
        _ERROR,
        "the history of the ledgers cannot be read: {message}",
        "{hint}",
        "What is not here is never guessed.",
    ),
    ValidationRule(
        "history-missing",
        _WARNING,
        "this clone is shallow: nobody can say whether the ledgers were rewritten before its first commit",
        "git fetch --unshallow --tags, then verify again",
        "What is not here is never guessed.",
    ),
    # Against a lock.
    ValidationRule(
        "ledger-rewritten",
        _ERROR,
        "the ledger of {name} does not go on from what was locked: {what}",
        "after a merge keep the locked lines first; else somebody took a release back: git log -p {path}",
        "A release that vanishes with its line leaves no other trace.",
    ),
    ValidationRule(
        "tag-remade",
        _WARNING,
        "the tag of {ref} was made again since it was locked, with the same content",
        "if that was meant: evalstore lock; else {back}",
        "The content is safe, the reason is worth a question.",
    ),
    ValidationRule(
        "lock-edited",
        _ERROR,
        "{ref} cannot be what was locked: {what}",
        "only `evalstore lock` writes this file: take its block out and lock again",
        "A lock that contradicts itself holds nothing.",
    ),
    ValidationRule("lock-unreadable", _ERROR, "the lock {message}", "{hint}", "Nothing is held."),
    ValidationRule(
        "lock-missing",
        _ERROR,
        "there is no evalstore.lock",
        "evalstore lock writes it; commit it",
        "Nothing is held.",
    ),
    ValidationRule(
        "lock-unused",
        _WARNING,
        "{ref} is locked, and nothing refers to it",
        "evalstore lock brings the file up to date",
        "The lock is of another state of the store.",
    ),
    ValidationRule(
        "reference-unlocked",
        _ERROR,
        "{ref} is not locked",
        "evalstore lock brings the file up to date",
        "What it means is held by nothing.",
    ),
)

RULES = {rule.id: rule for rule in _ROWS}


def make_finding(rule: str, place: Place, pointer: str = "", **facts: object) -> Finding:
    """Return a finding of a rule; its facts are cut and escaped, because they come from foreign files."""
    row = RULES[rule]
    safe = {key: make_excerpt(str(fact), LONG_EXCERPT) for key, fact in facts.items()}
    message, hint = row.message.format_map(safe), row.hint.format_map(safe)
    return Finding(row.id, row.severity, place.file, place.line, place.column, pointer, message, hint)
