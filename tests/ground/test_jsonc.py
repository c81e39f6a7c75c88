"""Members are added to JSON with comments, and every other byte stays: where lists end, commas trail, tabs indent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.documents.jsonc import add_members, read_jsonc
from evalstore.errors import EvalstoreError

NEW = {"./a.json": "a/*.yaml", "./b.json": "b/*.yaml"}
KEY = "yaml.schemas"
CASES = {
    "empty": "{}",
    "blank lines": "{\n\n}\n",
    "only a comment": "{ // nothing yet\n}\n",
    "one line": '{"editor.tabSize": 4}',
    "lines": '{\n  "editor.tabSize": 4\n}\n',
    "a trailing comma": '{\n    "editor.tabSize": 4,\n}\n',
    "a comment behind the last": '{\n\t"editor.tabSize": 4 // four, not "8"\n\t/* end */\n}\n',
    "a comma in a comment": '{\n  "a": [1, 2,], // , }\n  "b": {} /* , */\n}\n',
    "comments everywhere": '// first\n/* a */ { /* b */ "a" /* c */ : /* d */ 1 /* e */ } // last\n',
    "crlf": '{\r\n  "a": 1 // x\r\n}\r\n',
    "marks in strings": '{\n  "a//b": "/* no */ , } ]", "c\\"": "\\\\"\n}\n',
    "schemas there": '{\n  "yaml.schemas": {\n    "./a.json": "mine/*.yaml"\n  },\n  "z": 1\n}\n',
    "schemas in one line": '{"yaml.schemas": {"x": "y"}, "z": 1}',
    "empty schemas": '{\n    "yaml.schemas": {}, // mine\n    "z": 1\n}',
    "a byte order mark": '\ufeff{\n  "a": 1\n}\n',
}


def strip(old: str, new: str) -> str:
    """Return what is left of the new text when what was added is taken out: the old text, as a subsequence."""
    rest = iter(new)
    return "".join(char for char in old if char in rest)


@pytest.mark.parametrize("name", CASES)
def test_what_is_there_stays_and_what_is_missing_is_added(name: str) -> None:
    text = CASES[name]
    changed = add_members(text.encode(), "settings.json", (KEY,), NEW)
    old, new = (read_jsonc(data, "settings.json").value for data in (text.encode(), changed))
    assert new == {**old, KEY: {**NEW, **old.get(KEY, {})}}
    assert strip(text, changed.decode()) == text
    assert add_members(changed, "settings.json", (KEY,), NEW) == changed
    for comment in ("// first", "/* a */", '// four, not "8"', "// mine", "// nothing yet"):
        assert (comment in text) == (comment in changed.decode())
    assert (b"\r\n" in changed) == ("\r\n" in text)
    assert b"\r\n" not in changed or b"\n" not in changed.replace(b"\r\n", b"")


def test_the_layout_is_that_of_the_file() -> None:
    assert add_members(CASES["a comment behind the last"].encode(), "f", (KEY,), {"x": "y"}).decode() == (
        '{\n\t"editor.tabSize": 4, // four, not "8"\n\t/* end */\n\t"yaml.schemas": {\n\t\t"x": "y"\n\t}\n}\n'
    )
    assert add_members(b"{}", "f", (KEY,), {"x": "y"}).decode() == '{\n  "yaml.schemas": {\n    "x": "y"\n  }\n}'


@pytest.mark.parametrize(
    "text",
    ["", "[]", "5", "{", '{"a": }', '{"yaml.schemas": []}', '{"a": 1, "a": 2}', "{a: 1}", '{"a": 1 /* }', "\x00{}"],
)
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(EvalstoreError):
        add_members(text.encode(), "settings.json", (KEY,), NEW)


keys = st.text('ab/*,{}"\\ ', max_size=4)
values = st.recursive(
    st.none() | st.integers(-9, 9) | keys,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(keys, values, max_size=4), st.sampled_from([None, 0, 2, "\t"]), st.data())
def test_any_settings_keep_their_bytes(old: dict[str, Any], indent: Any, data: st.DataObject) -> None:
    text = json.dumps(old, indent=indent, ensure_ascii=False)
    # Comments wherever a reader ends a line.
    text = "".join(line + data.draw(st.sampled_from(["", " // , }", " /* ] */"])) + "\n" for line in text.split("\n"))
    changed = add_members(text.encode(), "f", ("new",), {"k": "v"})
    assert read_jsonc(changed, "f").value == {**old, "new": {"k": "v"}}
    assert strip(text, changed.decode()) == text
