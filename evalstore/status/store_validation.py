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
from evalstore.status.lint_workers import LintShare, lint_in_processes, list_store_options
from evalstore.store import ArtifactStore
from evalstore.validation import ACCEPTED, KnownRules, PendingAcceptances, ValidationSource, validate
from evalstore.workers import ONE_PROCESS, JobOptions


def make_validator(  # noqa: PLR0913  # what a run is measured by, each by its name
    store: ArtifactStore | None,
    sources: Sequence[ValidationSource],
    *,
    today: date,
    strict: bool = False,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    jobs: JobOptions = ONE_PROCESS,
) -> Callable[..., Findings]:
    """Return `validate` for some files of a store (None: of none), which takes the `settings` to judge them by.

    `strict` makes every finding an error; `watch` wraps the iteration over the files (a progress bar); `jobs` says how
    many processes look through them.
    """
    known = find_known_rules(store, sources, today)
    run = partial(
        validate,
        sources,
        today=today,
        strict=strict,
        watch=watch,
        known=known,
        **list_store_options(store),
    )

    root = (store.root or store.git.directory).absolute() if store else None
    has_lock = bool(store and store.lock.exists)
    named = KnownRules(tuple(known.rules), tuple(known.rule_sets), known.pending)

    def validate_by(settings: Any = None) -> Findings:
        share = LintShare(root, has_lock, sources, settings, today, strict, named)
        return run(settings=settings, lint=partial(lint_in_processes, share=share, jobs=jobs))

    return validate_by


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
