"""`evalstore audit --question` shows what was asked, word by word where it changed, and where a text ends."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.audits.conftest import Desk
from tests.audits.test_acceptance import BAN

Print = Callable[..., str]


@pytest.fixture
def show(desk: Desk, print_page: Print) -> Print:
    """Show a question with its old and new input, and its old and new output."""

    def run(inputs: tuple[str, str], outputs: tuple[str, str], form: str = "text") -> str:
        desk.rubric("1.0.0", BAN)
        runs = []
        for version, asked, output in zip(("1.0.0", "2.0.0"), inputs, outputs, strict=True):
            desk.dataset(version, [{"id": "q0", "input": asked}], "1.0.0")
            runs.append(desk.score(version, [output], f"m-{version[0]}"))
        return print_page("audit", *(run.path for run in runs), "--question", "q0", form=form)

    return run


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_an_edited_question_is_shown_word_by_word(show: Print, form: str) -> None:
    shown = show(("Name a bright colour.", "Name a dark colour."), ("red", "black"), form)
    assert "Name a [-bright-] {+dark+} colour." in shown.replace("\\", "")


def test_white_space_at_the_end_is_seen(show: Print) -> None:
    shown = show(("Name a colour.", "Name a colour.\n"), ("red", "red \n"))
    assert "asked, differing only in white space: Name a colour. in A, Name a colour.⏎ in B" in shown
    assert "| red·⏎" in shown
    assert "the outputs differ only in white space" in shown


def test_the_document_has_both_inputs(show: Print) -> None:
    asked = ("Name a bright colour.", "Name a dark colour.")
    assert json.loads(show(asked, ("red", "black"), "json"))["asked"] == dict(zip("ab", asked, strict=True))


def test_an_equal_question_is_shown_once(show: Print) -> None:
    shown = show(("Name a colour.", "Name a colour."), ("red", "black"))
    assert shown.count("Name a colour.") == 1
    assert "asked: Name a colour." in shown
