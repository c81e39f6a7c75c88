"""Where keys belong that people bring from other tools, or write one level too high: a hint by place and key."""

from __future__ import annotations

from collections.abc import Iterable

_SCORING = "write it under `scoring:`"
_CHECKS = "write checks under `checks:`, each with its `kind`"
_GATES = "list the ids of checks that must not fail under `required` of `scoring`"
_THRESHOLD = "write `threshold`"
_MODEL = "write it under `model:`"
_RUBRIC_REF = "name a rubric: `rubric_ref: rubric/<id>@<version>`"
_EXPECTED = "write `expected`, or keep it under `metadata:`"
_INPUT = "write `input`, or keep it under `metadata:`"
_JUDGE_FILE = "a judge is a file of its own; a check of kind llm_judge names it in `judge_prompt_ref`"


def _share_hint(hint: str, keys: str) -> dict[str, str]:
    return dict.fromkeys(keys.split(), hint)


_HINTS: dict[str, dict[str, str]] = {
    "rubric": {
        **_share_hint(_SCORING, "combine errors missing required threshold weights"),
        **_share_hint(f"{_SCORING} as `threshold`", "min_score pass_mark pass_threshold passing_score"),
        **_share_hint(f"{_SCORING} as `combine`", "aggregate aggregation mode"),
        **_share_hint(_CHECKS, "assert assertions asserts criteria expectations graders metrics rules tests"),
        **_share_hint(_GATES, "gate gates must_pass"),
        **_share_hint(_JUDGE_FILE, "judge judges judge_prompt_ref model prompt template"),
        "name": "`id` is its name in references, `title` its name for people",
    },
    "checks": {
        **_share_hint("write it under `weights` of `scoring`, by the id of the check", "weight weights"),
        **_share_hint("list the id of the check under `required` of `scoring`", "critical gate must_pass required"),
        **_share_hint("write `case_sensitive`, or `flags: i` in a regex", "case case_insensitive ignore_case"),
        **_share_hint(_THRESHOLD, "min_score pass_mark pass_threshold"),
        **_share_hint("write `negate: true`", "invert inverse negated not"),
        **_share_hint(_JUDGE_FILE, "judge prompt rubric_prompt template"),
        "name": "write `id`, or `description` for people",
        "type": "write `kind`",
        "value": "write `values`, a list",
    },
    "scoring": {
        **_share_hint(_GATES, "gate gates must_pass"),
        **_share_hint(_THRESHOLD, "min_score pass_mark pass_threshold passing_score"),
        **_share_hint("write `combine`", "aggregate aggregation method mode"),
        "weight": "write `weights`, by the id of the check",
    },
    "judge": {
        **_share_hint("write it at the head of `template`: one text is sent", "system system_message system_prompt"),
        **_share_hint("write `template`", "instructions messages prompt user"),
        **_share_hint(_MODEL, "max_tokens seed temperature top_p"),
        **_share_hint(f"{_MODEL} as `id`", "model_id model_name"),
        **_share_hint("write `threshold` in the check that names this judge", "pass_threshold threshold"),
        **_share_hint("write `level_names`", "choices labels levels options"),
        "name": "`id` is its name in references, `title` its name for people",
    },
    "model": _share_hint("write `id`", "model model_id model_name name"),
    "questions": {
        **_share_hint(_RUBRIC_REF, "rubric rubrics"),
        **_share_hint(_INPUT, "prompt query question user_input"),
        **_share_hint(_EXPECTED, "answer expected_answer expected_output ground_truth ideal reference target"),
        **_share_hint(
            f"checks stand in a rubric; {_RUBRIC_REF}",
            "assert assertions asserts checks criteria_checks expectations graders scorers scoring",
        ),
        **_share_hint("write `expected_facts`", "facts"),
        **_share_hint("write `expected_tools`", "expected_tool_calls tools"),
        **_share_hint("write `messages`", "conversation turns"),
    },
    "dataset": {
        **_share_hint("write it under `defaults:`", "bundle rubric_ref"),
        **_share_hint(f"under `defaults:`, {_RUBRIC_REF}", "rubric rubrics"),
        **_share_hint("write `questions`", "cases data entries evals examples items samples tests"),
        "renames": "write it in evalstore.yaml: `renames: {dataset/<id>: {<old>: <new>}}`",
    },
}

PLACES: Iterable[str] = tuple(_HINTS)


def find_hint(place: str, key: str) -> str | None:
    """Return where a key belongs that stands in `place`, one of `PLACES` or another; None for a word nobody uses."""
    return _HINTS.get(place, {}).get(key)
