"""`evalstore diff --suggest`: an edit like the one that was made, where one needs a smaller bump; compared, not promised."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.diff import compare
from evalstore.places import find_resource_folder

Cli = Callable[..., Any]
OLD = """\
id: tone
version: "1.0.0"
checks:
  - {id: polite, kind: must_contain_any, values: [please]}
  - {id: calm, kind: must_not_contain, values: ["!!"]}
scoring: {combine: weighted_avg}
"""
# An edit of the text, what is said of it, and what that needs; None where nothing is known.
CASES = {
    "a new check": (("scoring:", "  - {id: short, kind: format, max_chars: 80}\nscoring:"), "give short weight 0", "minor"),
    "another phrase": (("[please]", "[please, thanks]"), "add the new form as polite_2 with weight 0", "minor"),
    "a phrase and case": (("[please]", "[please, thanks], case_sensitive: true"), "polite_2", "minor"),
    "another id": (("id: tone", "id: manners"), "renamed_from: tone", "patch"),
    "another name of a check": (("id: calm", "id: quiet"), "keep the check id calm", "patch"),
    "a mode": (("weighted_avg", "min"), None, None),
    "no average": (("[please]", "[please, thanks]"), None, None),
    "nothing": (("1.0.0", "1.0.1"), None, None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_suggested_needs_less(name: str, cli: Cli, tmp_path: Path) -> None:
    (before, after), words, level = CASES[name]
    text = OLD.replace("weighted_avg", "min") if name == "no average" else OLD
    (tmp_path / "old.yaml").write_text(text)
    (tmp_path / "new.yaml").write_text(text.replace(before, after, 1))
    sides = [str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml")]
    answer = json.loads(cli("diff", *sides, "--suggest", "--format", "json").out)
    schema = json.loads((find_resource_folder("schema") / "output/diff.schema.json").read_text())
    Draft202012Validator(schema).validate(answer)
    told = " ".join(cli("diff", *sides, "--suggest").out.split())
    if words is None:
        assert "suggestion" not in answer
        assert "Instead" not in told
        return
    suggestion = answer["suggestion"]
    assert words in told
    assert f"Instead, for {suggestion['level']}: {suggestion['steps'][0]}" in told
    assert suggestion["level"] == level
    from evalstore.documents import read_yaml

    old = read_yaml(text.encode(), "old.yaml").value
    assert str(compare(old, suggestion["document"]).required_bump) == level
    assert "suggestion" not in json.loads(cli("diff", *sides, "--format", "json").out)
    assert "--suggest" in cli("diff", *sides).next_steps


def test_it_is_for_one_change(cli: Cli) -> None:
    assert cli("diff", "--suggest").code == 2
