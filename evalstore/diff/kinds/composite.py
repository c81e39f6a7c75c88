"""composite: another rubric, by a reference, which the diff follows like any reference."""

from __future__ import annotations

from evalstore.diff.kinds import (
    REQUIRED,
    ComparedKind,
    Param,
    read_no_question,
    read_text,
    say_always,
    say_never,
)

KIND = ComparedKind(
    params={"rubric_ref": Param(REQUIRED, read_text, rule="composite-ref-changed")},
    is_binary=say_never,
    may_miss=say_always,
    may_err=say_always,
    question_parts=read_no_question,
)
