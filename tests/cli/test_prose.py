"""What people write on a command line, in locales that know its characters and in others."""

from __future__ import annotations

from typing import Any

import pytest

from evalstore.cli.main import main
from evalstore.cli.param_types import PROSE


@pytest.mark.parametrize(
    ("value", "expected"),
    [("plain", "plain"), ("ünï €", "ünï €"), ("ü".encode().decode("ascii", "surrogateescape"), "ü")],
)
def test_a_text_is_the_same_in_every_locale(value: str, expected: str) -> None:
    assert PROSE.convert(value, None, None) == expected


@pytest.mark.parametrize("argv", [["bump", "rubric/tone", "-m"], ["accept", "0f3a9c51d2b47e68", "--reason"]])
def test_bytes_that_are_no_text_are_a_wrong_command_line(argv: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*argv, "x \udcff"])
    assert (ended.value.code, " is not UTF-8" in capsys.readouterr().err) == (2, True)
