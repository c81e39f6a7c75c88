"""What bytes mention is never less than what they refer to, however the letters are written or cut."""

from __future__ import annotations

import pytest

from evalstore.documents import read_yaml
from evalstore.model import Kind, find_pins, parse_ref
from evalstore.release.dependencies.mentions import scan_mentions

RUBRIC = (
    "checks:\n  - {{kind: composite, rubric_ref: {}}}\n  - kind: llm_judge\n    judge_prompt_ref: judge/tone@1.0.0\n"
)
SPELLINGS = [
    "rubric/answer_style@1.0.0",
    "'rubric/answer_style@^1'",
    '"rubric/answer_style@>=1.2 <2"',
    '"rubric\\/answer_style@1.0.0"',
    '"\\x72ubric/answer_style"',
    '"rubric/answer\\u005fstyle@1.0.0"',
    '"rubric/answer\\U0000005fstyle@1.0.0"',
    '"rubric/\\\n      answer_style@1.0.0"',
    "&pin rubric/answer_style",
    "'rubric/answer_style@>=1.2\n      <2'",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_whatever_a_file_refers_to_is_mentioned(spelling: str) -> None:
    data = RUBRIC.format(spelling).encode()
    refs = [parse_ref(text) for _, text in find_pins(Kind.RUBRIC, read_yaml(data, "x.yaml").value)]
    assert [ref.name for ref in refs] == ["rubric/answer_style", "judge/tone"]
    mentions = scan_mentions([data])
    assert mentions.hidden or {ref.name for ref in refs} <= mentions.names
    assert mentions.floating or not any(ref.is_floating for ref in refs)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_it_does_not_matter_where_the_bytes_are_cut(spelling: str) -> None:
    data = RUBRIC.format(spelling).encode()
    whole = scan_mentions([data])
    for size in (1, 3, 7, 50):
        cut = scan_mentions(data[start : start + size] for start in range(0, len(data), size))
        assert (cut.hidden, cut.names >= whole.names) == (whole.hidden, True)
        assert cut.floating >= whole.floating


def test_a_regex_hides_nothing_and_an_exact_pin_does_not_float() -> None:
    mentions = scan_mentions([b"pattern: '\\bfoo\\d+\\b'\nrubric_ref: rubric/tone@1.2\n"])
    assert (mentions.names, mentions.floating, mentions.hidden) == ({"rubric/tone"}, False, False)
