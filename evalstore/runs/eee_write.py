"""Writes a run's rows as lines of Every Eval Ever data; encodes what rows share only once; pure.

evalstore's own fields are texts in `metadata`, as in the aggregate.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from evalstore.documents import LINE_LIMIT, write_canonical
from evalstore.errors import LimitError, RefusedError
from evalstore.identity_cache import IdentityCache
from evalstore.model import CheckResult, Verdict
from evalstore.runs.tool_calls import format_calls
from evalstore.runs.values import LATEST, UNKNOWN, GradedRow, Run, digest_plain_text
from evalstore.text import make_excerpt

# version -> the label of its rows; until 0.2.3 it had a prefix, unlike the label of an aggregate.
LABELS = {LATEST: LATEST, "0.2.2": "instance_level_eval_0.2.2"}
SCORE, PASS_RATE = "score", "pass_rate"
# Made once, because `json.dumps` makes a new encoder in every call with other than its defaults.
_encode = json.JSONEncoder(ensure_ascii=False).encode
encode_dense = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
# Fields of a check's result that are written only if it has them.
_OTHERS = ("replies", "reply_digests", "inner_errors", "inner_missing")
# Legal in JSON, but a reader that splits lines like `str.splitlines` would cut a row there.
_BREAKS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def format_exact_score(score: Fraction | None) -> str:
    """Write an exact score such as `2/3`; empty for none."""
    return "" if score is None else str(score)


def write_score(score: Fraction | None) -> float:
    """Return a score as the format writes it: a number, -1 for none."""
    return UNKNOWN if score is None else float(score)


def _write_text(text: str) -> str:
    """Return a text as JSON, five times as fast as an encoder."""
    # If ASCII escaping changes nothing, both ways give the same, and that one is twice as fast.
    is_plain = text.isascii() and "\x7f" not in text
    return encode_basestring_ascii(text) if is_plain else encode_basestring(text)


def write_row_line(row: GradedRow, run: Run) -> bytes:
    """Return one row as an instance-level record of `run`, which gives version, id and model.

    Raises `LimitError` for a row that is longer than a line that can be read again.
    """
    head = _write_head(run.eee_version, run.id, run.model, run.name)
    grade = _GRADES.find(
        row.checks, row.score, row.verdict, row.reason, row.rubric, row.rubric_digest
    )
    output = _write_text(row.output.text)
    text = f"{{{head}, {_write_subject(row, output)}, {grade}, {_write_digests(row, output)}}}}}\n"
    if not text.isascii():
        for char, escape in _BREAKS.items():
            text = text.replace(char, escape)
    line = text.encode()
    if len(line) > LINE_LIMIT:
        raise LimitError(
            f"the output to {make_excerpt(row.id)} is too long: its row would have "
            f"{len(line):,} bytes, and a line of a run has {LINE_LIMIT:,} at most",
            hint="leave this output out, and its question counts as one without an answer",
        )
    return line


def _write_members(members: Mapping[str, Any]) -> str:
    """Return the members of a JSON object without its braces."""
    return _encode(members)[1:-1]


@lru_cache(maxsize=8)
def _write_head(version: str, run: str, model: str, name: str) -> str:
    """Return the members with which all rows of a run begin."""
    if version not in LABELS:
        raise RefusedError(
            f"no run is written as Every Eval Ever {make_excerpt(version)}",
            hint=f"known: {', '.join(LABELS)}",
        )
    return _write_members(
        {
            "schema_version": LABELS[version],
            "evaluation_id": run,
            "model_id": model,
            "evaluation_name": name,
            "evaluation_result_id": SCORE,
        }
    )


def _write_subject(row: GradedRow, output: str) -> str:
    """Return the members about what was graded; `output` is its text as JSON."""
    reference = ", ".join(map(_write_text, row.reference))
    is_plain = row.output.tool_calls is None
    answer = (
        f'"output": {{"raw": [{output}]}}'
        if is_plain
        else f'"messages": {_encode(_format_messages(row))}'
    )
    return (
        f'"sample_id": {_write_text(row.id)}, "sample_hash": "{_compute_sample_hash(row)}", '
        f'"interaction_type": "{"single_turn" if is_plain else "agentic"}", "input": {{"raw": '
        f'{_write_text(row.input)}, "reference": [{reference}]}}, {answer}, '
        '"answer_attribution": []'
    )


def _write_grade_members(checks: tuple[CheckResult, ...], *grade: Any) -> str:
    """Return the members about the grade; the digests are appended to the metadata later."""
    score, verdict, reason, rubric, rubric_digest = grade
    is_correct = "true" if verdict is Verdict.PASS else "false"
    error = f'"error": {_write_text(reason or "unscored")}, ' if score is None else ""
    results = f"[{','.join(map(_CHECKS.find, checks))}]"
    return (
        f'"evaluation": {{"score": {write_score(score)!r}, "is_correct": {is_correct}}}, {error}'
        f'"metadata": {{"evalstore_score": "{format_exact_score(score)}", '
        f'"evalstore_verdict": "{verdict}", "evalstore_reason": {_write_text(reason)}, '
        f'"evalstore_rubric": {_write_text(rubric)}, '
        f'"evalstore_rubric_digest": {_write_text(rubric_digest)}, '
        f'"evalstore_checks": {_write_text(results)}'
    )


def _write_check(check: CheckResult) -> str:
    """Return a check's result as JSON."""
    unscored = f'"{check.unscored}"' if check.unscored else "null"
    others = {name: value for name in _OTHERS if (value := getattr(check, name))}
    return (
        f'{{"id":{_write_text(check.id)},"kind":{_write_text(check.kind)},'
        f'"score":"{format_exact_score(check.score)}","verdict":"{check.verdict}",'
        f'"unscored":{unscored},"reason":{_write_text(check.reason)},'
        f'"engine":{_write_text(check.engine)}'
        f"{',' + encode_dense(others)[1:-1] if others else ''}}}"
    )


# The rows of a run share a few different grades and results, so their JSON is cached.
_GRADES = IdentityCache(_write_grade_members)
_CHECKS = IdentityCache(_write_check)


def _write_digests(row: GradedRow, output: str) -> str:
    """Return the members of the metadata that differ in each row."""
    is_plain = row.has_plain_output
    digest = digest_plain_text(output) if is_plain else row.output_digest
    digests = (
        f'"evalstore_input_digest": {_write_text(row.input_digest)}, '
        f'"evalstore_reference_digest": {_write_text(row.reference_digest)}, '
        f'"evalstore_output_digest": "{digest}"'
    )
    if is_plain and not (row.sample or row.output.end) and row.group is row.asked is None:
        return digests
    calls, measures = row.output.tool_calls, row.output.measures.recorded
    others = {
        **({} if row.group is None else {"evalstore_group": row.group}),
        **({"evalstore_sample": str(row.sample)} if row.sample else {}),
        **({} if row.asked is None else {"evalstore_asked": row.asked}),
        **({"evalstore_output_end": row.output.end} if row.output.end else {}),
        **(
            {}
            if calls is None
            else {"evalstore_tool_calls": write_canonical([dict(call) for call in calls])}
        ),
        **({"evalstore_measures": write_canonical(measures)} if measures else {}),
    }
    return f"{digests}, {_write_members(others)}" if others else digests


def _format_messages(row: GradedRow) -> list[dict[str, Any]]:
    return [
        {"turn_idx": 0, "role": "user", "content": row.input},
        {
            "turn_idx": 1,
            "role": "assistant",
            "content": row.output.text,
            "tool_calls": list(format_calls(row.output.tool_calls or ())),
        },
    ]


def _compute_sample_hash(row: GradedRow) -> str:
    """Return the hash that the format's contributor guide defines: over sorted ASCII JSON."""
    reference = ",".join(map(encode_basestring_ascii, row.reference))
    sample = f'{{"raw":{encode_basestring_ascii(row.input)},"reference":[{reference}]}}'
    return hashlib.sha256(sample.encode()).hexdigest()
