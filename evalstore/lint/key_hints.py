"""Says where a key belongs that is another tool's, or in the wrong place."""

from __future__ import annotations

from collections.abc import Mapping

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
# Where a key is -> the words there, and where they belong.
_HINTS: Mapping[str, Mapping[str, str]] = {
    "rubric": {
        "combine errors missing required threshold verdict weights": _SCORING,
        "min_score pass_mark pass_threshold passing_score": f"{_SCORING} as `threshold`",
        "aggregate aggregation mode": f"{_SCORING} as `combine`",
        "assert assertions asserts criteria expectations graders metrics rules tests": _CHECKS,
        "gate gates must_pass": _GATES,
        "judge judges judge_prompt_ref model prompt template": _JUDGE_FILE,
        "name": "use `id` for references and `title` for people",
    },
    "checks": {
        "weight weights": "write it under `weights` in `scoring`, by check id",
        "critical gate must_pass required": "list the check's id under `required` in `scoring`",
        "case case_insensitive ignore_case": "write `case_sensitive`, or `flags: i` in a regex",
        "min_score pass_mark pass_threshold": _THRESHOLD,
        "invert inverse negated not": "write `negate: true`",
        "judge prompt rubric_prompt template": _JUDGE_FILE,
        "name": "write `id`, or `description` for people",
        "type": "write `kind`",
        "value": "write `values`, a list",
    },
    "scoring": {
        "gate gates must_pass": _GATES,
        "min_score pass_mark pass_threshold passing_score": _THRESHOLD,
        "aggregate aggregation method mode": "write `combine`",
        "weight": "write `weights`, by check id",
    },
    "judge": {
        "system system_message system_prompt": f"{_MODEL} as `system`",
        "instructions messages prompt user": "write `template`",
        "extra max_tokens response_format seed temperature top_p": _MODEL,
        _PARAMETERS: _EXTRA,
        "model_id model_name": f"{_MODEL} as `id`",
        "pass_threshold threshold": "write `threshold` in the check that names this judge",
        "choices labels levels options": "write `level_names`",
        "name": "use `id` for references and `title` for people",
    },
    "model": {
        "model model_id model_name name": "write `id`",
        "system_message system_prompt": "write `system`",
        _PARAMETERS: _EXTRA,
    },
    "questions": {
        "rubric rubrics": _RUBRIC_REF,
        "assert assertions asserts checks criteria_checks expectations graders scorers scoring": (
            f"checks belong in a rubric; {_RUBRIC_REF}"
        ),
        **{word: f"write `{key}`{_OR_METADATA.get(key, '')}" for word, key in SYNONYMS.items()},
    },
    "dataset": {
        "bundle rubric_ref": "write it under `defaults:`",
        "rubric rubrics": f"under `defaults:`, {_RUBRIC_REF}",
        "cases data entries evals examples items samples tests": "write `questions`",
        "renames": "write it in evalstore.yaml: `renames: {dataset/<id>: {<old>: <new>}}`",
    },
}


def find_hint(place: str, key: str) -> str | None:
    """Return where a key found in `place` belongs; None for a word that nobody uses."""
    for words, hint in _HINTS.get(place, {}).items():
        if key in words.split():
            return hint
    return None
