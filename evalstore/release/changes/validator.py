"""Validates files in the context of their store.

Its references, its acceptances and its rules for changes count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

from evalstore.checks import NO_CONTEXT, CheckContext
from evalstore.errors import EvalstoreError
from evalstore.lint import ACCEPTED, KnownRules, PendingAcceptances, ValidationSource, validate
from evalstore.model import Findings
from evalstore.places import SETTINGS_FILE
from evalstore.progress import Watch
from evalstore.release.dependencies.references import expect_references
from evalstore.release.dependencies.renames import find_missing_renames
from evalstore.store import ArtifactStore


def make_validator(  # noqa: PLR0913  # what a run is measured by, each by its name
    store: ArtifactStore | None,
    sources: Sequence[ValidationSource],
    *,
    today: date,
    strict: bool = False,
    watch: Watch[Any] = iter,
    whole: bool = False,
    replies: CheckContext | None = None,
) -> Callable[..., Findings]:
    """Return `validate` for some files of a store, or of none (None).

    It takes the `settings` to judge them by. `strict` makes every finding an error; `watch` wraps
    the iteration over the files (a progress bar); `whole` gives every finding its line of the file.
    `replies` says how judges answer about examples.
    """
    known = _find_known_rules(store, sources, today)
    options: dict[str, Any] = {"load": None}
    if store is not None:
        options = {
            "load": store.read_artifact,
            "locked": store.lock.refs,
            "expect": partial(expect_references, store),
            "parse": store.documents.read,
        }
    options["grading"] = replace(replies or NO_CONTEXT, strict=store is not None and store.strict)
    return partial(
        validate,
        sources,
        today=today,
        strict=strict,
        watch=watch,
        known=known,
        whole=whole,
        **options,
    )


def _find_known_rules(
    store: ArtifactStore | None, sources: Sequence[ValidationSource], today: date
) -> KnownRules:
    """Return what the files of a store are measured by."""
    pending = _find_pending_acceptances(store, sources, today)
    renames = _find_renames(store)
    # Only settings name the rules for changes, which are slow to load.
    if not any(source.path == SETTINGS_FILE for source in sources):
        return KnownRules(pending=pending, renames=renames)
    from evalstore.diff.rules import RULES
    from evalstore.diff.settings import RULE_SETS

    return KnownRules(RULES, RULE_SETS, pending, renames)


def _find_renames(store: ArtifactStore | None) -> Mapping[str, str]:
    try:
        return find_missing_renames(store) if store else {}
    except EvalstoreError:  # whatever prevents it is reported as a separate finding
        return {}


def _find_pending_acceptances(
    store: ArtifactStore | None, sources: Sequence[ValidationSource], today: date
) -> PendingAcceptances | None:
    """Return which acceptances a change needs.

    Returns None if no acceptance is validated, or nothing can be compared.
    """
    if (
        store is None
        or store.root is None
        or not any(source.path == ACCEPTED for source in sources)
    ):
        return None
    from evalstore.release.changes.status import read_status

    try:
        return read_status(store, today=today).pending
    except EvalstoreError:  # whatever prevents the comparison is reported as a separate finding
        return None
