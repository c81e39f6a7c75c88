"""Builds texts that may change a rubric's score, from what its checks look for; grades nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, permutations, product
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.findings import Witness
from evalstore.diff.kinds import KINDS, find_plain_kind, list_json_outputs
from evalstore.diff.limits import CANDIDATES
from evalstore.diff.rubric_state import CheckState
from evalstore.documents import write_canonical

_PHP = "```php\n"
PLAIN_TEXT = "An answer."


def build_candidates(change: Change) -> Iterator[str]:
    """Yield texts to try: what the changed check looks for, with what others want or ban.

    The shortest come first. A blank text comes last because it shows the least.
    """
    checks = _group_checks(change)
    mine = checks.pop(change.token, [])
    changed = list_expected_outputs(change) or [*_list_sample_texts(mine), *_list_own_json(mine)]
    others = list(checks.values())[: CANDIDATES.checks]
    changed += _list_joint_json(mine, [states[-1] for states in others])
    json = _list_json_outputs(mine, [states[-1] for states in checks.values()])
    plenty = [
        _join_texts(
            (*map(_find_passing_text, (states[-1] for states in checks.values())), *json[:1])
        )
    ]
    parts = [
        *(_list_sample_texts(states)[: CANDIDATES.options] for states in others),
        ["", *json],
        changed,
    ]
    together = islice(product(*map(_drop_long_texts, parts)), CANDIDATES.built)
    built = (*(_join_texts((*plenty, part)) for part in changed), *map(_join_texts, together))
    short = order_texts([text for text in built if len(text) <= CANDIDATES.text_length])[
        : CANDIDATES.texts
    ]
    yield from short
    # If an output has to be JSON, the same texts are tried as JSON strings.
    if any(
        check.params.get("format") == "json" for state in change.states for check in state.checks
    ):
        yield from map(write_canonical, short[: CANDIDATES.quoted])
        yield from map(_write_lines, [text for text in short if _PHP in text][: CANDIDATES.quoted])
    yield from sorted(set(built[: len(changed)]) - set(short), key=lambda text: (len(text), text))


def build_few_candidates(change: Change) -> Iterator[str]:
    """Yield a few texts that most edits affect: what the changed check and the others look for.

    For a setting of the whole rubric, yield one text for each check.
    """
    checks = _group_checks(change)
    if mine := checks.pop(change.token, []):
        texts = [*list_expected_outputs(change), *_list_sample_texts(mine)]
    else:
        texts = ["", *(next(_yield_sample_texts(states[-1]), "") for states in checks.values())]
    asked = _join_texts(_find_passing_text(states[-1]) for states in checks.values())
    for text in filter(_is_readable, texts):
        yield from dict.fromkeys([_join_texts((asked, text)), text or PLAIN_TEXT])


def _group_checks(change: Change) -> dict[str, list[CheckState]]:
    """Return the checks of both rubrics by their token, the old one first."""
    checks: dict[str, list[CheckState]] = {}
    for check in chain.from_iterable(state.checks for state in change.states):
        checks.setdefault(check.token, []).append(check)
    return checks


def _is_readable(text: str) -> bool:
    return len(text) <= CANDIDATES.text_length


def order_texts(
    texts: Iterable[str], rank: Callable[[str], tuple[bool, ...]] = lambda _: ()
) -> list[str]:
    """Return texts in the order to try them: by `rank`, then the shortest first, blanks last.

    `PLAIN_TEXT` comes before blank ones: it says as little, but looks like an output.
    """
    visible = sorted(
        (text for text in dict.fromkeys(texts) if text.strip()),
        key=lambda text: (*rank(text), len(text)),
    )
    blanks = sorted({text for text in texts if not text.strip()}, key=len)
    return [*visible, *([PLAIN_TEXT] if blanks else []), *blanks]


def _write_lines(text: str) -> str:
    """Return a JSON array of a text's lines, one a line, so that a PHP block in it stays one."""
    lines = ",\n".join(map(write_canonical, text.split("\n")))
    return f"[{lines}]"


def _drop_long_texts(parts: list[str]) -> list[str]:
    return [part for part in parts if len(part) <= CANDIDATES.text_length]


def list_expected_outputs(change: Change) -> list[str]:
    """Return outputs that a decider expects to change, or that another artifact's diff shows."""
    if change.imported_diff:
        shown = (finding.witness for finding in change.imported_diff.findings)
        return [witness.output for witness in shown if isinstance(witness, Witness)]
    return list(change.decision.outputs) if change.decision else []


def _list_schemas(checks: Iterable[CheckState]) -> list[Any]:
    return [check.params["schema"] for check in checks if check.params.get("schema") is not None]


def _list_own_json(mine: list[CheckState]) -> list[str]:
    """Return JSON that the changed check wants, bare and in a fence."""
    schemas = dict.fromkeys(map(write_canonical, _list_schemas(mine)))
    values = chain.from_iterable(map(_find_instances, schemas))
    return [output for value in values for output in list_json_outputs(value, "auto")]


def _list_joint_json(mine: list[CheckState], others: list[CheckState]) -> list[str]:
    """Return JSON that only one side of the changed check takes, and all or no other checks."""
    schemas, other_schemas = _list_schemas(mine), _list_schemas(others)
    if not other_schemas or len(schemas) != len(mine) or len(mine) != CANDIDATES.sides:
        return []
    moved = ([schema, {"not": other}] for schema, other in permutations(schemas))
    rests = (other_schemas, [{"not": one} for one in other_schemas])
    joint = ({"allOf": [*pair, *rest]} for pair in moved for rest in rests)
    found = map(_find_instances, map(write_canonical, joint))
    values = [value for instances in found for value in islice(instances, CANDIDATES.joint)]
    extract = mine[0].params["extract"]
    return [output for value in values for output in list_json_outputs(value, extract)]


def _list_json_outputs(mine: list[CheckState], others: list[CheckState]) -> list[str]:
    """Return JSON for the first check that reads it; none if the changed check reads JSON.

    `_list_joint_json` covers that case.
    """
    asks = [check for check in (*mine, *others) if check.params.get("schema") is not None]
    if not asks or asks[0] in mine:
        return []
    params = asks[0].params
    instances = _find_instances(write_canonical(params["schema"]))
    outputs = (reversed(list_json_outputs(value, params["extract"])) for value in instances)
    return [*chain.from_iterable(outputs)]


def _find_instances(schema: str) -> Iterable[Any]:
    from evalstore.languages.schema_comparison import find_instances

    return find_instances(schema) if len(schema) <= CANDIDATES.schema else ()


def _join_texts(parts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _list_sample_texts(states: list[CheckState]) -> list[str]:
    wanted = chain(_list_exchanged_phrases(states), [""], *map(_yield_sample_texts, states))
    return list(dict.fromkeys(islice(wanted, CANDIDATES.parts)))


def _list_exchanged_phrases(states: list[CheckState]) -> list[str]:
    plain = [check for check in states if find_plain_kind(check.kind) == check.kind]
    lists = [set(check.params.get("values", ())) for check in plain]
    return sorted(set.symmetric_difference(*lists)) if len(lists) == CANDIDATES.sides else []


def _find_passing_text(check: CheckState) -> str:
    return next(_yield_sample_texts(check), "") if check.negate is KINDS[check.kind].bans else ""


def _yield_sample_texts(check: CheckState) -> Iterator[str]:
    return KINDS[check.kind].sample_texts(check.params)


def list_fragments(check: CheckState) -> list[str]:
    """Return texts that make a check pass or fail: what it looks for, and JSON for its schema."""
    return [*islice(_yield_sample_texts(check), CANDIDATES.parts), *_list_own_json([check])]
