"""What people mistype in YAML is answered where it begins, with what to write."""

from __future__ import annotations

import pytest

from evalstore.documents import read_yaml
from evalstore.errors import LoadError


@pytest.mark.parametrize(
    ("text", "line", "column", "hint"),
    [
        ("title: Refunds: how\n", 1, 15, "a string with a colon needs quotes"),
        ("scoring:\n  combine min\n  threshold: 0.7\n", 3, 12, "a key above has no colon"),
        ("checks:\n\t- kind: format\n", 2, 1, "YAML does not allow tabs"),
        ("checks:\n  - id: a\n\tkind: regex\n", 3, 1, "YAML does not allow tabs"),
        ("owner: @ann\n", 1, 8, "a string that begins with @ needs quotes"),
        ("title: %x\n", 1, 8, "a string that begins with % needs quotes"),
        ("title: `x`\n", 1, 8, "a string that begins with ` needs quotes"),
        ('a: 1\ntitle: "Refunds\nb: 2\nc: 3\n', 2, 8, "never closed"),
        ("values: [#refund, other]\nb: 2\n", 1, 9, "never closed"),
        ("scoring: {combine: min\nb: 2\n", 1, 10, "never closed"),
        ('pattern: "\\d+"\n', 1, 11, "single quotes"),
        ("checks:\n - kind: a\n  - kind: b\n", 3, 3, "in the same column"),
        ("checks:\n- kind: a\n negate: true\n", 3, 2, "in one column"),
        ('title: "a" b\n', 1, 12, "write nothing after a quoted string"),
        ("values: [*, b]\n", 1, 11, "begins with * or & needs quotes"),
        ("title: *bold\n", 1, 8, "begins with * needs quotes"),
        ("checks: - kind: a\n", 1, 9, "on the line below its key"),
        ("a: 1\nchecks\n", 2, 1, "end a key with a colon"),
        ("pattern: [a-z]+\n", 1, 15, "a string that begins with [ needs quotes"),
        ("checks:\n  - pattern: [0-9]{2}-[0-9]\n", 2, 19, "a string that begins with [ needs quotes"),
        ("template: {{ output }} and more\n", 1, 12, "quote a string that begins with { or ["),
        ("values: ['It's fine']\n", 1, 9, "double an apostrophe"),
        ("title: 'It's fine'\n", 1, 12, "double an apostrophe"),
    ],
)
def test_a_slip_has_its_place_and_what_to_write(text: str, line: int, column: int, hint: str) -> None:
    with pytest.raises(LoadError) as caught:
        read_yaml(text.encode(), "rubrics/x.yaml")
    place = caught.value.place
    assert place
    assert (place.line, place.column) == (line, column)
    assert hint in (caught.value.hint or "")
