"""Writes a measurement into the judge's `validation` block, and changes no other byte."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Generic, TypeVar

from evalstore.agreement.comparison import JudgeReplacement
from evalstore.agreement.confusion import Agreement
from evalstore.agreement.noise import JudgeNoise
from evalstore.documents import Document, encode_document
from evalstore.documents.edit_entries import Scalar, set_entries, set_root_entry
from evalstore.errors import ConflictError, Place, RefusedError
from evalstore.files import read_below
from evalstore.model import Artifact, PinType, format_decimal, parse_ref
from evalstore.model.rubric import JUDGED_THRESHOLD
from evalstore.release.transactions.locking import lock_repository, write_locked_file
from evalstore.statistics import Rate
from evalstore.store import ArtifactStore
from evalstore.store.artifacts import ARTIFACT_LIMIT

_BLOCK, _RETIRES = "validation", "retires"
_UNRELEASED = {PinType.WORKTREE: "a file that can change", PinType.REVISION: "not a release"}
_NOISE_KEYS = ("noise_sd", "noise_flip_rate", "noise_measured_at", "noise_outputs", "noise_repeats")
_Measured = TypeVar("_Measured", Agreement, JudgeNoise, JudgeReplacement)


@dataclass(frozen=True, slots=True)
class ValidationDraft(Generic[_Measured]):
    """The judge's file before and after, and the measurement to write into it."""

    result: _Measured
    path: str
    before: Document
    after: Document

    def write(self, store: ArtifactStore) -> _Measured:
        """Write the file; raises `ConflictError` if it is no longer the one that was measured."""
        if store.root is None:
            raise RefusedError(
                "a bare repository has no working files to write",
                hint="add --no-write to measure only",
            )
        with lock_repository(store, {}):
            # Compare bytes, because the measurement may have taken hours of judge calls.
            if read_below(store.root, self.path, ARTIFACT_LIMIT) != encode_document(self.before):
                raise ConflictError(
                    "the file changed while the judge was asked; nothing was written",
                    place=Place(self.path),
                    hint="run it again: the replies are kept, and nothing is asked twice",
                )
            if self.after.text != self.before.text:
                write_locked_file(store.root, self.path, encode_document(self.after))
        return replace(self.result, written=self.path)


def check_writable(ref: str, against: str | None = None) -> None:
    """Refuse to measure a judge, before any call, if the result could not be written."""
    judge = parse_ref(ref)
    if judge.type not in {PinType.NONE, PinType.WORKTREE}:
        raise RefusedError(
            f"{judge} stays as it is: only a working file can be written",
            hint=f"name {judge.name} to write into its file, or add --no-write to measure only",
        )
    dataset = parse_ref(against) if against else None
    # A judge whose file names something never released could not be released itself.
    if dataset and dataset.type in _UNRELEASED:
        raise RefusedError(
            f"{dataset} is {_UNRELEASED[dataset.type]}, so a judge's file cannot name it",
            hint=f"evalstore bump {dataset.name} releases it; or add --no-write to measure only",
        )


def draft_validation(
    agreement: Agreement, judge: Artifact, today: date
) -> ValidationDraft[Agreement]:
    """Return the judge's file with the measurement in its `validation` block.

    The block also has the day that the judge's endpoint named.
    """
    entries = _build_entries(agreement, judge.scoring_digest, today)
    after = set_entries(judge.document, _BLOCK, entries)
    if agreement.retires:
        after = set_root_entry(after, _RETIRES, agreement.retires.isoformat())
    return _draft_file(agreement, judge, after, entries)


def draft_replacement(
    found: JudgeReplacement, old: Artifact, new: Artifact, today: date
) -> ValidationDraft[JudgeReplacement]:
    """Return the judge's file with its other model and only that model's measurement.

    Without labelled rows the file keeps the rates of the old model with the digest of what was
    measured, from which `validate` sees that they are out of date.
    """
    block = old.value.get(_BLOCK)
    known = block if isinstance(block, dict) else {}
    entries: dict[str, Scalar | None] = {key: None for key in _NOISE_KEYS if key in known}
    if found.labelled:
        entries |= _build_entries(found.labelled.new, new.scoring_digest, today)
    elif known.get("tpr") is not None and "digest" not in known:
        entries |= {"digest": old.scoring_digest}
    if (
        known
        and set(known) <= set(entries)
        and not any(entry is not None for entry in entries.values())
    ):
        after = set_root_entry(new.document, _BLOCK, None)
    else:
        after = set_entries(new.document, _BLOCK, entries) if entries else new.document
    if found.retires or _RETIRES in old.value:
        after = set_root_entry(
            after, _RETIRES, found.retires.isoformat() if found.retires else None
        )
    draft = _draft_file(found, old, after, entries)
    is_old_day = _RETIRES in old.value and not found.retires
    lost = (
        (f"the file's `{_RETIRES}` is the old model's day, and is removed",) if is_old_day else ()
    )
    return replace(draft, result=replace(draft.result, notes=(*draft.result.notes, *lost)))


def draft_noise(noise: JudgeNoise, judge: Artifact, today: date) -> ValidationDraft[JudgeNoise]:
    """Return the judge's file with its noise in `validation`, next to its agreement with people."""
    values = (
        _round_number(noise.deviation),
        _round_number(float(noise.flip_rate)),
        today.isoformat(),
        len(noise.judgements),
        noise.repeat,
    )
    entries: dict[str, Scalar | None] = dict(zip(_NOISE_KEYS, values, strict=True))
    return _draft_file(noise, judge, set_entries(judge.document, _BLOCK, entries), entries)


def _round_number(value: float) -> Decimal:
    # Four places, without trailing zeros.
    return Decimal(f"{value:.4f}".rstrip("0").removesuffix("."))


def _draft_file(
    result: _Measured, judge: Artifact, after: Document, entries: Mapping[str, Scalar | None]
) -> ValidationDraft[_Measured]:
    before: Document = judge.document
    path = parse_ref(result.judge.ref).path
    old, new = (document.text.splitlines(keepends=True) for document in (before, after))
    diff = "".join(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=1))
    notes = (*result.notes, *_list_lost_entries(before.value.get(_BLOCK), entries))
    return ValidationDraft(
        replace(result, entries=entries, diff=diff, notes=notes), path, before, after
    )


def _build_entries(agreement: Agreement, digest: str, today: date) -> dict[str, Scalar | None]:
    """Return the entries of the block; None removes an older entry that has no new value.

    `digest` is the scoring digest of the judge that was measured.
    """
    found = agreement.confusion
    return {
        "tpr": round_rate(found.tpr),
        "tnr": round_rate(found.tnr),
        "validated_against": agreement.against.ref if agreement.against else None,
        "validated_at": today.isoformat(),
        "sample_size": found.rows,
        "sample_good": found.good,
        # A judge measured at the usual threshold does not mention it.
        "threshold": None
        if agreement.threshold == JUDGED_THRESHOLD
        else Decimal(format_decimal(agreement.threshold)),
        "digest": digest,
        # Verdicts that were in the labels name no model.
        "model": ", ".join(agreement.engines) or None,
    }


def _list_lost_entries(old: object, entries: Mapping[str, Scalar | None]) -> list[str]:
    before = old if isinstance(old, dict) else {}
    gone = [name for name, entry in entries.items() if entry is None and name in before]
    return [f"the file's `{name}` is from an earlier validation, and is removed" for name in gone]


def round_rate(rate: Rate) -> Decimal | None:
    """Round a rate to as many places as its rows can distinguish, so the count can be recovered."""
    if rate.value is None:
        return None
    # n rows distinguish n + 1 rates, for which as many decimal places as n has digits are enough.
    places = max(2, len(str(rate.of)))
    digits = format(Decimal(round(rate.value * 10**places)).scaleb(-places), "f").rstrip("0")
    return Decimal(f"{digits}0" if digits.endswith(".") else digits)
