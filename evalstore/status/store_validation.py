"""Validates files with what the store around them knows: references, the lock, rules of changes, acceptances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import partial
from typing import Any

from evalstore.diff.rule_sets import RULE_SETS
from evalstore.errors import EvalstoreError
from evalstore.model import Findings
from evalstore.places import SETTINGS_FILE
from evalstore.references.reading import expect_references
from evalstore.store import ArtifactStore
from evalstore.validation import ACCEPTED, KnownRules, PendingAcceptances, ValidationSource, validate


def make_validator(  # what a run is measured by, each by its name
    store: ArtifactStore | None,
    sources: Sequence[ValidationSource],
    *,
    today: date,
    strict: bool = False,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> Callable[..., Findings]:
    """Return `validate` for some files of a store (None: of none), which takes the `settings` to judge them by.

    `strict` makes every finding an error; `watch` wraps the iteration over the files (a progress bar).
    """
    known = find_known_rules(store, sources, today)
    options: dict[str, Any] = {"load": None}
    if store is not None:
        options = {
            "load": store.load,
            "locked": store.lock.refs,
            "expect": partial(expect_references, store),
            "parse": store.documents.read,
        }
    return partial(validate, sources, today=today, strict=strict, watch=watch, known=known, **options)


def find_known_rules(store: ArtifactStore | None, sources: Sequence[ValidationSource], today: date) -> KnownRules:
    """Return what the files of a store are measured by."""
    pending = _find_pending_acceptances(store, sources, today)
    # Only settings name the rules of changes, which are slow to load.
    if not any(source.path == SETTINGS_FILE for source in sources):
        return KnownRules(rule_sets=RULE_SETS, pending=pending)
    from evalstore.diff.rules import RULES

    return KnownRules(RULES, RULE_SETS, pending)


def _find_pending_acceptances(
    store: ArtifactStore | None, sources: Sequence[ValidationSource], today: date
) -> PendingAcceptances | None:
    """Return which acceptances a change needs; None where no acceptance is validated, or nothing can be compared."""
    if store is None or store.root is None or not any(source.path == ACCEPTED for source in sources):
        return None
    from evalstore.status import read_status

    try:
        return read_status(store, today=today).pending
    except EvalstoreError:  # whatever prevents the comparison is reported as a finding of its own
        return None
