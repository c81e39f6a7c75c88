"""Every rule of lock, verify and gate, one per row.

A store's own settings cannot weaken them.
"""

from __future__ import annotations

from evalstore.errors import Place
from evalstore.model import Finding, Severity
from evalstore.model.findings import ValidationRule
from evalstore.text import LONG_EXCERPT, make_excerpt

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

_ROWS = (
    # Tags, individually.
    ValidationRule(
        "tag-invalid",
        _ERROR,
        "the tag {tag} is not a release: it {what}",
        (
            "a release is a tag of its own name on a commit; find out who made this one, then "
            "remove it: git tag -d {tag}"
        ),
        "The tag makes other content look like a release.",
    ),
    ValidationRule(
        "release-invalid",
        _ERROR,
        "{ref} is not valid: {message}",
        "the tag was moved or made by hand; {back}",
        "A tag is valid when the file at its commit has that id and version.",
    ),
    ValidationRule(
        "tag-ignored",
        _INFO,
        "the tag {tag} is not a release of this store: {why}",
        "",
        "It is listed with the releases, but no reference can resolve to it.",
    ),
    ValidationRule(
        "tags-ignored",
        _INFO,
        "{count} more tags are not releases of this store, from {first} to {last}",
        "see them all: git tag --list; a store next to others says tag_prefix in evalstore.yaml",
        (
            "They are listed with the releases, but no reference can resolve to them. Of many, "
            "only the first are named."
        ),
    ),
    ValidationRule(
        "object-missing",
        _ERROR,
        "{ref} cannot be checked: {message}",
        "{hint}",
        "evalstore never guesses what this clone does not have.",
    ),
    ValidationRule(
        "object-damaged",
        _ERROR,
        "{ref} cannot be read: {message}",
        "{hint}",
        "The content does not match its id.",
    ),
    ValidationRule(
        "release-content-differs",
        _ERROR,
        "{path} says that it is {ref}, and that release has other content",
        "release the edit as {next}: evalstore bump {name}",
        "Two different contents have the same version.",
    ),
    # Tags against the ledgers.
    ValidationRule(
        "tag-moved",
        _ERROR,
        "{ref} is not what was released: {what}",
        "{back}",
        "Scores under this version no longer mean the same.",
    ),
    ValidationRule(
        "tag-missing",
        _ERROR,
        "{ref} was released, but its tag is missing here",
        "{back}",
        "Nothing that pins it can be scored again.",
    ),
    ValidationRule(
        "release-unpushed",
        _ERROR,
        "{tag} was never pushed to {remote}",
        "{push}: git push {remote} {ref}",
        "Other clones have its ledger line but not the release, so verify always fails there.",
    ),
    ValidationRule(
        "release-differs-there",
        _ERROR,
        "{tag} differs on {remote}: it is {there} there and {here} here",
        (
            "{unpushed}find out which one was released: git fetch {remote} "
            "{ref}:refs/tags/theirs/{tag}"
        ),
        "Two clones would grade differently under the same name.",
    ),
    ValidationRule(
        "tags-missing",
        _ERROR,
        "{count} of {all} releases have no tag here: this is a {clone} clone",
        "{fetch}; then run evalstore verify again",
        "evalstore never guesses what this clone does not have.",
    ),
    ValidationRule(
        "release-unlisted",
        _ERROR,
        "the tag {tag} exists, but no branch's ledger lists {ref}",
        "{why}, add to {path}: {line}",
        "A floating reference would follow any such tag.",
    ),
    ValidationRule(
        "release-unrecorded",
        _INFO,
        "{name} has no ledger: only its tags say what was released",
        "the next evalstore bump starts a ledger; evalstore lock records the present tags",
        "git keeps no trace of a moved tag.",
    ),
    # Versions against what changed.
    ValidationRule(
        "release-bump-too-small",
        _ERROR,
        "{ref} is a {said} bump, but the changes since {base} need {needed}: {rules}",
        "see evalstore diff {base} {ref}, then release it as {next} and pin that; "
        "if it was intended, say why in .evalstore/accepted.yaml",
        "A smaller version tells people that scores are comparable.",
    ),
    ValidationRule(
        "release-bump-lowered",
        _INFO,
        "{ref} is a {said} bump since {base} because this store lowers levels: {what}",
        "",
        "Every report shows what was overridden or accepted.",
    ),
    ValidationRule(
        "release-bump-unknown",
        _WARNING,
        "cannot check whether the version of {ref} is high enough: {message}",
        "fix that, then run evalstore verify again",
        "evalstore never assumes that two files are equal.",
    ),
    # Signatures, if the settings ask for them.
    ValidationRule(
        "signers-missing",
        _ERROR,
        "signatures cannot be checked: {message}",
        "{hint}",
        "A reviewed file lists who may release.",
    ),
    ValidationRule(
        "release-unsigned",
        _ERROR,
        "{ref} is not signed by an allowed signer: {what}",
        "find out who made the tag; if it is correct, let a signer make it again: "
        "git tag -f -s {tag} {tag}^{{commit}} (with its message)",
        "Anybody could have made this tag.",
    ),
    # The ledgers themselves.
    ValidationRule(
        "ledger-unreadable",
        _ERROR,
        "the ledger of {name} cannot be read: {message}",
        "{hint}",
        "Without the ledger, a moved tag goes unnoticed.",
    ),
    ValidationRule(
        "ledger-malformed",
        _ERROR,
        "this line does not name a release",
        (
            "a line is <version> <SHA-256 of the file>, and only evalstore bump writes it; see "
            "git log -p {path}"
        ),
        "Nothing can be checked against it.",
    ),
    ValidationRule(
        "ledger-repeated",
        _ERROR,
        "duplicate version {version} (first on line {line})",
        "keep the line that was released, as git log -p {path} shows",
        "A version can be released only once.",
    ),
    ValidationRule(
        "ledger-history-rewritten",
        _ERROR,
        "commit {commit} removed releases from the ledger of {name}: {lines}",
        "git show {commit} -- {path} shows them: restore the lines and their tags; a release is "
        "undone by a new one, after a git revert, too: evalstore bump {name}",
        "Only the history shows when a line and its tag are rewritten together.",
    ),
    ValidationRule(
        "history-unreadable",
        _ERROR,
        "the history of the ledgers cannot be read: {message}",
        "{hint}",
        "evalstore never guesses what this clone does not have.",
    ),
    ValidationRule(
        "history-missing",
        _WARNING,
        "this clone is shallow, so the ledgers cannot be checked before its first commit",
        "{fetch}; then run evalstore verify again",
        "evalstore never guesses what this clone does not have.",
    ),
    # A change against its base.
    ValidationRule(
        "store-emptied",
        _ERROR,
        "{base} has {count} of this store, but this change has no artifact",
        "git checkout {base} -- {path} restores the files",
        "An empty store passes every check.",
    ),
    ValidationRule(
        "store-moved",
        _ERROR,
        "at {base} this store was in {was}, and now it is in {now}",
        "move the whole store in one commit (git mv), and point CI at the new folder",
        "Another store would answer in its place.",
    ),
    ValidationRule(
        "artifact-removed",
        _WARNING,
        "{name} is gone, and {base} has it",
        (
            "git checkout {base} -- {path} restores it; after a rename write `renamed_from: "
            "{former}` into the new file"
        ),
        (
            "What is not there is not checked, and a store that moved elsewhere would be guarded "
            "by what it left."
        ),
    ),
    ValidationRule(
        "target-removed",
        _WARNING,
        "the target {target} ({dataset}) is gone, and {base} has it",
        "restore it in evalstore.yaml; if it is intended, merge it knowingly",
        "What the target asked of its dataset is asked by nobody any more.",
    ),
    ValidationRule(
        "examples-removed",
        _WARNING,
        "{count} of {all} that {name} had at {base} are gone or expect something else",
        "restore them; if it is intended, merge it knowingly",
        "Examples are tests of a rubric: without them nothing shows that a change turns a verdict.",
    ),
    ValidationRule(
        "tag-prefix-changed",
        _ERROR,
        "tag_prefix is {now!r}, but the releases of {base} have {was!r}",
        "restore tag_prefix: {was!r}",
        "Every release would vanish under another prefix.",
    ),
    ValidationRule(
        "ledger-shortened",
        _ERROR,
        "the ledger of {name} lacks releases that {base} lists: {lines}",
        "git checkout {base} -- {path} restores it",
        "Nothing that the ledger does not list is checked.",
    ),
    ValidationRule(
        "signers-changed",
        _ERROR,
        "{what}, and {base} decides who may sign",
        "let somebody who may sign releases merge this change knowingly",
        "A change that chooses its own signers is signed by anybody.",
    ),
    ValidationRule(
        "signer-added",
        _WARNING,
        "{what}, as soon as releases must be signed: {base} does not have that line",
        "let somebody who may sign releases merge this change knowingly",
        "Whoever is on the list before `signed: require` is switched on signs from then on.",
    ),
    ValidationRule(
        "lock-loosened",
        _WARNING,
        "{ref} was locked at {base} and no longer is",
        "lock it again: evalstore lock",
        "A later release can change what it means.",
    ),
    ValidationRule(
        "bundle-loosened",
        _WARNING,
        "the schema of the bundle {name} is less strict than at {base}: {what}",
        "git checkout {base} -- {path} restores it; if it is intended, merge it knowingly",
        "Rows that it refused would pass from now on.",
    ),
    ValidationRule(
        "folder-replaced",
        _ERROR,
        "{path} must be a folder: {message}",
        "commit the folder with its files",
        "Other files would be read there than the ones that were checked.",
    ),
    ValidationRule(
        "file-rewritten",
        _ERROR,
        "{path} differs from what HEAD holds, because .gitattributes says {attribute}",
        "remove the attribute: evalstore reads files as git stores them",
        "People review and release the stored file, and checks read the other one.",
    ),
    # Against a lock.
    ValidationRule(
        "ledger-rewritten",
        _ERROR,
        "the ledger of {name} does not continue the locked one: {what}",
        "a release was removed: see git log -p {path}",
        "Only the lock shows when a release and its line are removed together.",
    ),
    ValidationRule(
        "tag-remade",
        _WARNING,
        "the tag of {ref} was remade with the same content since it was locked",
        "if that was intended: evalstore lock; otherwise {back}",
        "The content is unchanged, but ask why the tag was remade.",
    ),
    ValidationRule(
        "lock-edited",
        _ERROR,
        "the lock entry of {ref} contradicts itself: {what}",
        "only `evalstore lock` writes this file: remove the entry and run evalstore lock",
        "A contradictory entry locks nothing.",
    ),
    ValidationRule(
        "lock-unreadable", _ERROR, "the lock {message}", "{hint}", "No reference is locked."
    ),
    ValidationRule(
        "lock-missing",
        _ERROR,
        "there is no evalstore.lock",
        "create and commit it: evalstore lock",
        "No reference is locked.",
    ),
    ValidationRule(
        "lock-unused",
        _WARNING,
        "{ref} is locked, but nothing refers to it",
        "update the file: evalstore lock",
        "The lock belongs to another state of the store.",
    ),
    ValidationRule(
        "reference-unlocked",
        _ERROR,
        "{ref} is not locked",
        "update the file: evalstore lock",
        "A later release can change what it means.",
    ),
)

RULES = {rule.id: rule for rule in _ROWS}


def make_finding(rule: str, place: Place, pointer: str = "", **facts: object) -> Finding:
    """Return a finding by a rule.

    Its facts are shortened and escaped, because they come from foreign files.
    """
    safe = {key: make_excerpt(str(fact), LONG_EXCERPT) for key, fact in facts.items()}
    return RULES[rule].make_finding(place, safe, pointer)
