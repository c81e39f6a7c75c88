"""Writes a result as plain data for JSON.

The data has the fields of the result's values by type, under the keys of a table. A class without a
row in `KEYS` is written with all its fields. A row lists keys, each with the attribute that it
shows if that has another name (`from=origin.old`). A path through an attribute that is None gives
None. A suffix changes the value: `?` writes None for an empty one, `!` leaves the key out if it is
None, `~` rounds, and `#` counts. The keys of a mapping within a row are computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.documents import format_json_pointer, write_canonical
from evalstore.model import Kind, format_decimal
from evalstore.versions import Version

DECIMALS = 12  # of an estimated float: more would differ between machines
_AS_TEXT = (Enum, Path, date, Version)
_PLAIN = frozenset({str, int, float, bool, type(None)})

RowPart = str | Mapping[str, Callable[[Any], Any]]
Row = tuple[RowPart, ...]
_ORIGIN = "commit=origin.commit author=origin.author co_authors=origin.co_authors date=origin.date"
_ADJUSTED = "rule fingerprint message level level_before overridden accepted"
_REPLIES = ("asked", "kept", "prompt_tokens", "completion_tokens")  # counted in a run's record


class DocumentKey(NamedTuple):
    """A key of a document, and how to read it from a value."""

    name: str
    read: Callable[[Any], Any]
    omits_none: bool


def _write_message(finding: Any) -> str:
    """Return a finding's message with its values in full: nobody reads JSON at 80 columns."""
    from evalstore.diff.plain_data import write_whole

    return write_whole(finding.message, finding.before, finding.after)


def write_json_value(value: Any) -> Any:
    """Return a value as plain data.

    An enum, path, version or day becomes text, and a fraction a decimal.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, _AS_TEXT):
        return str(value)
    if isinstance(value, Fraction):
        return float(format_decimal(value))
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): write_json_value(item) for key, item in value.items()}
    if is_dataclass(value) or hasattr(value, "_fields"):
        class_: Any = type(value)
        return _write_keys(value, _list_keys(class_))
    return [write_json_value(item) for item in value] if isinstance(value, list | tuple) else value


def write_json_number(name: str, value: Fraction | None) -> dict[str, Any]:
    """Return `{name: 0.666666666667, name_exact: "2/3"}`.

    If the decimal is exact, `name_exact` is left out.
    """
    if value is None:
        return {name: None}
    decimal = format_decimal(value)
    return {
        name: float(decimal),
        **({} if Fraction(decimal) == value else {f"{name}_exact": str(value)}),
    }


def select_json_keys(value: Any, *row: RowPart) -> dict[str, Any]:
    """Return some attributes of a value as plain data, for keys as in a row of `KEYS`."""
    return _write_keys(value, _parse_row(row))


def _write_keys(value: Any, keys: tuple[DocumentKey, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, read, omits_none in keys:
        item = read(value)
        if isinstance(item, Fraction):
            found |= write_json_number(name, item)
        elif item is not None or not omits_none:
            found[name] = write_json_value(item)
    return found


@cache
def _list_keys(type_: Any) -> tuple[DocumentKey, ...]:
    named: tuple[str, ...] = getattr(type_, "_fields", ())
    return _parse_row(
        KEYS.get(type_.__name__) or (" ".join(named or (field.name for field in fields(type_))),)
    )


def _parse_row(row: Row) -> tuple[DocumentKey, ...]:
    return tuple(key for part in row for key in _parse_part(part))


def _parse_part(part: RowPart) -> Iterator[DocumentKey]:
    if isinstance(part, str):
        yield from map(_parse_key, part.split())
    else:
        yield from (
            DocumentKey(name.rstrip("!"), read, name.endswith("!")) for name, read in part.items()
        )


@cache
def _parse_key(text: str) -> DocumentKey:
    plain = text.rstrip("?!~#")
    name, _, right = plain.partition("=")
    path, mark = (right or name).split("."), text[len(plain) :]

    def read(value: Any) -> Any:
        for attribute in path:
            value = None if value is None else getattr(value, attribute)
        return _MARKS[mark](value)

    return DocumentKey(name, read, mark == "!")


def _round_floats(value: Any) -> Any:
    if value is None:
        return None
    return (
        [round(one, DECIMALS) for one in value]
        if isinstance(value, tuple | list)
        else round(value, DECIMALS)
    )


_MARKS: Mapping[str, Callable[[Any], Any]] = {
    "": lambda value: value,
    "!": lambda value: value,
    "?": lambda value: value or None,
    "~": _round_floats,
    "#": len,
}


def _count_reach(impact: Any) -> dict[str, int]:
    kinds = (Kind.JUDGE, Kind.RUBRIC, Kind.DATASET)
    counts = {kind.folder: len(impact.list_of_kind(kind)) for kind in kinds}
    return {**counts, "questions": impact.questions}


def _write_judged(witness: Any) -> list[dict[str, Any]] | None:
    return list(map(_write_judged_score, witness.judged)) or None


def _write_judged_score(one: Any) -> dict[str, Any]:
    about = {"about": one.about} if one.about else {}
    return {"check": one.check, **about, **write_json_number("score", one.score)}


def _write_replies(run: Any) -> dict[str, Any]:
    counts = {name: int(run.harness.get(f"replies_{name}", 0)) for name in _REPLIES}
    cost = run.harness.get("replies_cost")
    return {**counts, "cost": None if cost is None else Decimal(cost)}


def _write_tool_calls(witness: Any) -> Any:
    return (
        None
        if witness.tool_calls is None
        else json.loads(write_canonical(list(witness.tool_calls)))
    )


def _write_measures(witness: Any) -> Any:
    recorded = witness.measures.recorded.items()
    # A whole number has no decimals.
    return {name: int(one) if one == int(one) else one for name, one in recorded} or None


def _write_question(witness: Any) -> Any:
    return None if witness.question is None else json.loads(write_canonical(dict(witness.question)))


def write_graded_example(graded: Any) -> dict[str, Any]:
    """Return an example with its result, as in JSON."""
    met = None if graded.result is None else not graded.is_failed
    pointer, expected = format_json_pointer(graded.example.place), graded.example.expected
    return {
        "pointer": pointer,
        "expected": expected,
        "got": graded.got,
        "as_expected": met,
        "why": graded.why,
    }


def _name_deciders(rule: Any) -> list[str]:
    from evalstore.diff.deciders.claims import name_decider

    return [name_decider(decider) for decider in rule.deciders]


def _name_lines(attribute: str) -> str:
    names = (
        "mix",
        "no_answer",
        "no_answer_as_zero",
        "nothing_to_grade",
        "judge_errors",
        "not_reproduced",
    )
    return " ".join(f"{name}={name}.{attribute}" for name in names)


KEYS: Mapping[str, Row] = {
    "AskedChange": (
        "run verdicts to_fail to_pass own unjudged bound beyond_noise mean_shift engines flips",
    ),
    "AcceptedLevel": ("reason by day until",),
    "ArtifactFile": (
        "ref=resolved.ref kind=resolved.kind id=resolved.id version=resolved.version?",
        "tag=resolved.tag commit=resolved.commit blob=resolved.blob path",
        {"text": lambda file: file.data.decode("utf-8")},
    ),
    "ArtifactStatus": (
        "ref state released working required_bump next_version ok rule message hint? dependents",
        "reaches=reached pins moved asked!",
        {
            "adjusted": lambda artifact: [
                select_json_keys(one, _ADJUSTED) for one in artifact.adjusted
            ]
        },
    ),
    "ArtifactSummary": ("ref=name kind id latest releases working? changed problem",),
    "Blame": ("ref=resolved.ref version=resolved.version commit=resolved.commit parts",),
    "BlamedPart": (
        {"pointer": lambda part: format_json_pointer(part.place.pointer)},
        "what=part.area name=part.name",
        {"value": lambda part: json.loads(write_canonical(part.place.value))},
        f"version=origin.released_in released_by=origin.released_by {_ORIGIN}",
        "subject=origin.subject gap=origin.gap?",
    ),
    "BrokenComparison": ("ref message file=place.file line=place.line",),
    "Cause": (
        "rule=source.rule rules=source.rules message=source.message part=source.part",
        "ref=source.origin.ref from=source.origin.old to=source.origin.new",
        "commit=source.origin.commit author=source.origin.author date=source.origin.date",
        "co_authors=source.origin.co_authors released_in=source.origin.released_in",
        "released_by=source.origin.released_by undoes=source.origin.undoes gap=source.origin.gap?",
        "share passes",
        {"exact": lambda cause: not cause.error},
        "error~ moved",
    ),
    "ChangePoint": (
        "version commit=main.commit.oid author=main.commit.author date=main.commit.date",
        "passed_over subject=main.commit.summary from=old.score to=new.score",
        "from_passes=old.pass_rate to_passes=new.pass_rate commits",
    ),
    "ChangeRule": (
        "id artifact since level headline direction=direction.words moves=scope certainty mirror",
        {"deciders": _name_deciders},
        "message reason example instead?",
    ),
    "CheckCorrection": (
        "rubric check judge",
        {"tpr": lambda one: one.good and [*one.good], "tnr": lambda one: one.bad and [*one.bad]},
        "pass_rate=corrected.judged~ corrected=corrected.share~ interval=corrected.interval~",
        "problem?",
    ),
    "CheckResult": ("id kind score verdict unscored reason engine",),
    "CheckSummary": (
        "mean",
        {"pass": lambda check: check.scored - check.fail},
        "fail unscored errors error_ids",
        {"partial!": lambda check: check.partial or None},
    ),
    "Coverage": ("graded asked",),
    "CommitChange": (
        "commit=commit.oid author=commit.author co_authors=commit.co_authors date=commit.date",
        "subject=commit.summary from=old.score to=new.score",
    ),
    "Comparability": ("a b answer bound parts bound_after dataset notes",),
    "ConditionResult": ({"condition": lambda result: str(result.condition)}, "answer value reason"),
    "CreatedStore": (
        "root repository_made=repository written merged",
        {"kept": lambda store: [name for name, _ in store.kept]},
        "next_steps example",
    ),
    "Dependent": (
        "ref=name distance working releases through",
        {
            "questions": lambda one: one.questions if one.kind is Kind.DATASET else None,
            "asked": lambda one: one.total_questions if one.kind is Kind.DATASET else None,
        },
    ),
    "Diff": (
        "old new rule_set profile required_bump next_version later_release! refused! certain",
        "possible findings total examples! measured notes settings asked!",
    ),
    "DiffFinding": (
        "rule level level_before overridden accepted direction verdict_direction certainty pointer",
        "file=new.file line=new.line old_file=old.file old_line=old.line",
        {"message": _write_message},
        "reason witness max_shift max_shift_scored fingerprint children",
        {
            "questions!": lambda one: (
                {"count": one.questions, "first": one.question_ids} if one.questions else None
            )
        },
    ),
    "Factor": (
        "name members share passes exact=is_exact estimated_on=anchors ci~ ci_passes~",
        "standard_error~ p~ order_range=order changed moved flipped claim typical verdicts causes",
        {"worst": lambda factor: [select_json_keys(one, "id share") for one in factor.worst]},
    ),
    "Finding": ("rule severity file line column pointer message hint",),
    "GateResult": ("ok base strict findings validate=validation verify=verification status",),
    "Findings": (
        "files findings mended!",
        {
            "off!": lambda result: dict(result.off) or None,
            "notes!": lambda result: list(result.notes) or None,
        },
    ),
    "Flips": (
        "pass_to_fail=pass_to_fail# fail_to_pass=fail_to_pass# by mcnemar_mid_p=mid_p~",
        {"questions": lambda flips: select_json_keys(flips, "pass_to_fail fail_to_pass")},
    ),
    "Impact": ("ref=name version latest", {"reaches": _count_reach}, "dependents pins notes"),
    "JudgeNoiseEstimate": (
        "reach~",
        {"measured": lambda noise: dict(noise.measured)},
        "unmeasured",
    ),
    "Lines": (
        _name_lines("score"),
        {
            "passes": lambda lines: select_json_keys(lines, _name_lines("passes")),
            "questions": lambda lines: {
                **select_json_keys(lines.questions, "added removed"),
                **select_json_keys(
                    lines,
                    "no_answer_a=silent_a no_answer_b=silent_b nothing_to_grade=emptied "
                    "judge_errors=errors",
                ),
            },
        },
        "failed_checks empty_checks",
    ),
    "JudgementPair": ("id check? label old new",),
    "LockedRef": ("ref version? previous changed",),
    "LockResult": ("path written refs removed ledgers",),
    "MeanShift": ("old new shift interval",),
    "MendedPlace": ("file line column old new moves_scores=moves",),
    "MigrationEntry": ("file pointer line outcome target rubric reason reasons remarks cases!",),
    "MoveCounts": ("falls rises units p~ direction",),
    "MovedOutput": (
        "id file=place.file line=place.line old_score new_score old_verdict new_verdict",
    ),
    "MovedReference": ("ref was now level file=place.file line=place.line",),
    "OwnShare": ("shapley old new ci~ ci_old~ ci_new~ passes ci_passes~ typical ci_typical~",),
    "PinMove": ("from=old to=new",),
    "QuestionMean": ("score verdict",),
    "Push": ("remote branch tags sent outcome message hint command",),
    "RecordChange": (
        "a b delta ci=estimate.mean.interval~ p=estimate.p~",
        "detectable=estimate.mean.detectable_effect~ significant=is_significant moves",
    ),
    "ReferencePin": (
        "from=user release to=target",
        {"ref": lambda pin: str(pin.ref)},
        "type=ref.type means follows locked scores file=place.file line=place.line places",
        "questions",
    ),
    "Released": (
        "released=done unchanged pinned followers lowered dry_run branch signed unreviewed",
        "findings bypassed push renumbered",
    ),
    "ReleasedVersion": ("ref tag commit previous bump moved",),
    "ReleaseLog": (
        "ref=name",
        {
            "comparable_since": lambda log: log.releases[0].since or None,
            "comparable_open": lambda log: log.releases[0].open,
        },
        "floating skipped untagged releases",
    ),
    "ReleaseLogEntry": (
        "version=logged.version tag=logged.tag commit=logged.commit date=logged.date",
        "author=logged.author bump=logged.bump digest=logged.digest previous=logged.previous",
        "summary=logged.summary compared_with=before required_bump=required asked=logged.asked!",
        {
            "findings": lambda entry: [
                {"rule": rule, "level": level, "count": count} for rule, level, count in entry.rules
            ]
        },
        "comparable_since=since problem",
    ),
    "RepeatedJudgement": ("id check scores flip_rate",),
    "Resolved": ("ref kind id version? tag commit blob digest scoring_digest floating locked",),
    "RubricResult": ("score verdict reason checks",),
    "Run": (
        "run=path samples=samples.name evaluation_id=id model unreleased score pass_rate",
        "rest_score rest_pass_rate ungraded gradings failed_gradings coverage empty_checks",
        "questions scored unscored outputs without_output",
        {"missing_outputs": lambda run: dict(run.missing_outputs)},
        "without_question asked_otherwise unread_rows log_status checks dataset rubrics judges",
        {"replies": _write_replies},
        "notes",
    ),
    "RunTotals": ("score pass_rate scored",),
    "StalePin": ("from=user ref file=place.file line=place.line",),
    "Status": ("ok total profile rule_set interrupted artifacts findings",),
    "StoreDiff": (
        "artifacts=total required_bump certain possible diffs new removed broken renames",
    ),
    "StoreListing": (
        "artifacts",
        {
            "ignored": lambda listing: [
                {"tag": name, "reason": reason} for name, reason in listing.ignored
            ]
        },
    ),
    "TurnedExample": (
        "pointer file=place.file line=place.line output expected old_score new_score old_verdict",
        "new_verdict as_expected=met",
    ),
    "TotalEffect": ("direction verdict_direction witness max_shift max_shift_scored",),
    "UsedArtifact": ("ref version digest scoring_digest commit tag rows!",),
    "Verification": (
        {"files": lambda result: result.releases + result.ledgers + bool(result.locked)},
        "findings",
    ),
    "WrittenAcceptance": (
        "file artifact=acceptance.artifact since=acceptance.since",
        "fingerprint=acceptance.fingerprint rule=acceptance.rule change=acceptance.change",
        "was=acceptance.accepted.was level=acceptance.accepted.level",
        "reason=acceptance.accepted.reason until=acceptance.accepted.until",
        "by=acceptance.accepted.by day=acceptance.accepted.day required_bump=status.required_bump",
        "next_version=status.next_version",
    ),
    "Witness": (
        "output",
        {"tool_calls!": _write_tool_calls},
        {"measures!": _write_measures},
        "old_score new_score old_verdict new_verdict",
        {"judged!": _write_judged},
        "least_shift!",
        {"question!": _write_question},
        "example!",
    ),
}
