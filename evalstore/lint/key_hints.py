"""Says where a key belongs that another tool has, or that stands in the wrong place."""

from __future__ import annotations

from evalstore.model.question import SYNONYMS

_SCORING = "write it under `scoring:`"
_CHECKS = "write checks under `checks:`, each with its `kind`"
_GATES = "list the ids of checks that must pass under `required` in `scoring`"
_THRESHOLD = "write `threshold`"
_MODEL = "write it under `model:`"
_EXTRA = "write it under `extra:` of `model:`, which is sent as it is"
_PARAMETERS = (
    "frequency_penalty max_completion_tokens presence_penalty reasoning reasoning_effort top_k "
    "verbosity"
)
_RUBRIC_REF = "name a rubric: `rubric_ref: rubric/<id>@<version>`"
_OR_METADATA = dict.fromkeys(("expected", "input"), ", or keep it under `metadata:`")
_JUDGE_FILE = (
    "put the judge in a file of its own, and name it in `judge_prompt_ref` of an llm_judge check"
)


def _share_hint(hint: str, keys: str) -> dict[str, str]:
    return dict.fromkeys(keys.split(), hint)


_HINTS: dict[str, dict[str, str]] = {
    "rubric": {
        **_share_hint(_SCORING, "combine errors missing required threshold verdict weights"),
        **_share_hint(
            f"{_SCORING} as `threshold`", "min_score pass_mark pass_threshold passing_score"
        ),
        **_share_hint(f"{_SCORING} as `combine`", "aggregate aggregation mode"),
        **_share_hint(
            _CHECKS, "assert assertions asserts criteria expectations graders metrics rules tests"
        ),
        **_share_hint(_GATES, "gate gates must_pass"),
        **_share_hint(_JUDGE_FILE, "judge judges judge_prompt_ref model prompt template"),
        "name": "use `id` for references and `title` for people",
    },
    "checks": {
        **_share_hint("write it under `weights` in `scoring`, by check id", "weight weights"),
        **_share_hint(
            "list the check's id under `required` in `scoring`", "critical gate must_pass required"
        ),
        **_share_hint(
            "write `case_sensitive`, or `flags: i` in a regex", "case case_insensitive ignore_case"
        ),
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
        "weight": "write `weights`, by check id",
    },
    "judge": {
        **_share_hint(f"{_MODEL} as `system`", "system system_message system_prompt"),
        **_share_hint("write `template`", "instructions messages prompt user"),
        **_share_hint(_MODEL, "extra max_tokens response_format seed temperature top_p"),
        **_share_hint(_EXTRA, _PARAMETERS),
        **_share_hint(f"{_MODEL} as `id`", "model_id model_name"),
        **_share_hint(
            "write `threshold` in the check that names this judge", "pass_threshold threshold"
        ),
        **_share_hint("write `level_names`", "choices labels levels options"),
        "name": "use `id` for references and `title` for people",
    },
    "model": {
        **_share_hint("write `id`", "model model_id model_name name"),
        **_share_hint("write `system`", "system_message system_prompt"),
        **_share_hint(_EXTRA, _PARAMETERS),
    },
    "questions": {
        **_share_hint(_RUBRIC_REF, "rubric rubrics"),
        **_share_hint(
            f"checks belong in a rubric; {_RUBRIC_REF}",
            "assert assertions asserts checks criteria_checks expectations graders scorers scoring",
        ),
        **{word: f"write `{key}`{_OR_METADATA.get(key, '')}" for word, key in SYNONYMS.items()},
    },
    "dataset": {
        **_share_hint("write it under `defaults:`", "bundle rubric_ref"),
        **_share_hint(f"under `defaults:`, {_RUBRIC_REF}", "rubric rubrics"),
        **_share_hint("write `questions`", "cases data entries evals examples items samples tests"),
        "renames": "write it in evalstore.yaml: `renames: {dataset/<id>: {<old>: <new>}}`",
    },
}


def find_hint(place: str, key: str) -> str | None:
    """Return where a key belongs that stands in `place`, one of those above or another; None for a word nobody uses."""
    return _HINTS.get(place, {}).get(key)
