"""One slip of the keyboard in a file of the sample store: `--fix` gives the file back byte for byte, or leaves it alone."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from evalstore.lint import find_folder_sources, validate
from evalstore.lint.fixes import fix_files

STEPS = sorted((Path(__file__).parents[2] / "sample_repo/history").iterdir())
WORD = re.compile(r'(?<=["\s{,])[a-z_]{3,}(?="?\s*:)|(?<=kind: )[a-z_]+|(?<=combine: )[a-z_]+')


def misspell(word: str, draw: random.Random) -> str:
    at = draw.randrange(len(word))
    return draw.choice([
        word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + draw.choice("bdfgh") + word[at:],
    ])  # fmt: skip


def mend(folder: Path) -> None:
    for _ in range(8):
        if not fix_files(validate(find_folder_sources(folder), load=None, today=date(2026, 1, 1)).findings):
            return
    pytest.fail("mending finds no end")


@pytest.mark.heavy
def test_a_slip_is_taken_back_or_left_alone(tmp_path: Path, samples: Callable[[int], int]) -> None:
    store, draw, outcomes = tmp_path / "store", random.Random(7), Counter[str]()  # noqa: S311  # a test draws the same
    for step in STEPS:
        shutil.copytree(step, store, dirs_exist_ok=True)
    files = sorted(path for folder in ("rubrics", "judges", "datasets") for path in (store / folder).iterdir())
    for _ in range(samples(80)):
        path = draw.choice(files)
        right = path.read_text("utf-8")
        word = draw.choice(list(WORD.finditer(right)))
        wrong = right[: word.start()] + misspell(word[0], draw) + right[word.end() :]
        path.write_text(wrong, "utf-8")
        mend(store)
        after = path.read_text("utf-8")
        assert after in {right, wrong}, (path.name, word[0], wrong[word.start() :][:20])
        outcomes["restored" if after == right else "left alone"] += 1
        path.write_text(right, "utf-8")
    assert outcomes["restored"] > 3 * outcomes["left alone"], outcomes
