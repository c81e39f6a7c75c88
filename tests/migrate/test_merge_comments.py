"""Two people's edits and comments of one file, drawn: nothing of either is lost silently, and the value is right."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalstore.documents import Pointer, read_yaml, replace_scalar
from evalstore.documents.document import follow_pointer
from evalstore.documents.edit import replace_value
from evalstore.documents.regions import BLOCK, Region, cut_region, get_region, join_pieces
from evalstore.errors import LoadError, RefusedError
from evalstore.migration.merging.merge_driver import FileMerge, MergeSides, merge_file
from tests.conftest import ROOT
from tests.rows import each

RUBRIC = """\
# How we talk to customers
id: tone
version: 1.0.0
title: Tone   # as the site calls it
owner: support
tags: [a, b]
metadata:
  team: web
  stage: trial   # until spring
checks:
  # never say it
  - id: calm
    kind: must_not_contain
    values: [simply, just]
    # what people read between the lines
    case_sensitive: false
  - id: short
    kind: format
    max_chars: 400   # a screen
  # what a judge says
  - id: sound
    kind: llm_judge
    judge_prompt_ref: judge/accuracy@1.0.0
    threshold: 0.7
    variables: {style: plain, length: short}
scoring:
  combine: weighted_avg   # all of them
  weights: {calm: 1, short: 2, sound: 1}
  threshold: 0.7
# the end
"""
JUDGE = """\
id: accuracy
version: 1.0.0
# asked of every answer
template: |
  Is this right?

  # not a comment
  {{ output }}

  Say yes or no.
score_type: binary
model: {id: large, temperature: 0, seed: 1}
validation: {tpr: 0.9, tnr: 0.8}   # of March
"""
DATASET = """\
id: web
version: 1.0.0
defaults: {rubric_ref: rubric/tone@1.0.0, format: text}
questions:
  # from the help desk
  - {id: one, input: Why?}   # asked daily
  - id: two
    input: How?
    expected_facts:
      - first   # must be there
      - second
  - id: three
    input: "Who # is it?"
"""
PATHS = {"rubrics/tone.yaml": RUBRIC, "judges/accuracy.yaml": JUDGE, "datasets/web.yaml": DATASET}


class Edit(NamedTuple):
    """One edit of a text: the part that it changes, and what replaces what; edits of other parts commute."""

    part: str
    old: str
    new: str


# Each part may be edited in several ways, of which two are a conflict; the words are found once in a text.
EDITS = {
    "rubrics/tone.yaml": [
        Edit("title", "title: Tone", "title: Voice"),
        Edit("title", "title: Tone", "title: Manners"),
        Edit("owner", "owner: support", "owner: sales"),
        Edit("tag", "[a, b]", "[a, b, c]"),
        Edit("team", "team: web", "team: shop"),
        Edit("stage", "stage: trial", "stage: live"),
        Edit("calm.values", "[simply, just]", "[simply, just, only]"),
        Edit("calm.case", "case_sensitive: false", "case_sensitive: true"),
        Edit("short.max", "max_chars: 400", "max_chars: 500"),
        Edit("short.max", "max_chars: 400", "max_chars: 300"),
        Edit("sound.pin", "accuracy@1.0.0", "accuracy@1.1.0"),
        Edit("sound.threshold", "    threshold: 0.7", "    threshold: 0.8"),
        Edit("sound.style", "style: plain", "style: formal"),
        Edit("sound.length", "length: short", "length: long"),
        Edit("weight.calm", "calm: 1", "calm: 3"),
        Edit("weight.short", "short: 2", "short: 4"),
        Edit("weight.sound", "sound: 1}", "sound: 5}"),
        Edit("combine", "combine: weighted_avg", "combine: min"),
        Edit("threshold", "\n  threshold: 0.7", "\n  threshold: 0.9"),
        Edit("new check", "scoring:\n", "  - id: mine\n    kind: format\n    max_words: 9  # few\nscoring:\n"),
        Edit("owner", "owner: support\n", ""),
        Edit("stage", "  stage: trial   # until spring\n", ""),
        Edit("weight.short", ", short: 2", ""),
        Edit("new key", "metadata:\n", "x_seen: 3  # times\nmetadata:\n"),
        Edit("combine", "  combine: weighted_avg   # all of them\n", "  # by rank\n  combine: median\n"),
        Edit("# head", "# How we talk to customers", "# How we speak to customers"),
        Edit("# site", "# as the site calls it", "# as the shop calls it"),
        Edit("# never", "# never say it", "# do not say it"),
        Edit("# never", "# never say it", "# avoid it"),
        Edit("# all", "# all of them", "# each of them"),
        Edit("# screen", "400   # a screen", "400"),
        Edit("# owner", "owner: support", "# who is asked\nowner: support"),
        Edit("# short", "  - id: short", "  # fits a screen\n  - id: short"),
        Edit("# short 2", "  - id: short", "  # or two\n  - id: short"),
        Edit("# pin", "    judge_prompt_ref", "    # measured in March\n    judge_prompt_ref"),
        Edit("# end", "# the end\n", "# the end\n# really\n"),
        Edit("# calm", "  - id: calm\n", "  - id: calm   # first of all\n"),
    ],
    "judges/accuracy.yaml": [
        Edit("model.temperature", "temperature: 0", "temperature: 1"),
        Edit("model.seed", "seed: 1}", "seed: 2}"),
        Edit("model.id", "id: large", "id: small"),
        Edit("template.first", "  Is this right?", "  Is this correct?"),
        Edit("template.last", "  Say yes or no.", "  Answer yes or no."),
        Edit("validation.tpr", "tpr: 0.9", "tpr: 0.91"),
        Edit("# asked", "# asked of every answer", "# asked of each answer"),
        Edit("# asked 2", "template: |", "# by the team\ntemplate: |"),
        Edit("# March", "# of March", "# of April"),
        Edit("# type", "score_type: binary", "score_type: binary  # or levels"),
    ],
    "datasets/web.yaml": [
        Edit("default", "format: text", "format: json"),
        Edit("ref", "tone@1.0.0", "tone@1.1.0"),
        Edit("one", "input: Why?", "input: Why not?"),
        Edit("two", "input: How?", "input: How so?"),
        Edit("two.fact", "      - second\n", "      - second\n      - third\n"),
        Edit("two.first", "      - first   # must be there\n", ""),
        Edit("two.tags", "    input: How?\n", "    tags: [new]  # this week\n    input: How?\n"),
        Edit("three", "Who # is it?", "Who # was it?"),
        Edit("new", "  - id: two\n", "  - id: new\n    input: New?\n  - id: two\n"),
        Edit("# desk", "# from the help desk", "# from the desk"),
        Edit("# daily", "# asked daily", "# asked weekly"),
        Edit("# fact", "# must be there", "# has to be there"),
        Edit("# two", "  - id: two", "  # seldom asked\n  - id: two"),
        Edit("# three", '    input: "Who', '    # of whom\n    input: "Who'),
    ],
}


def count_common(one: str, other: str) -> int:
    """Count the characters with which both texts begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def apply_edits(text: str, edits: list[Edit]) -> str | None:
    """Return a text with edits made, by places of the text before any of them; None where two of them overlap."""
    places = []
    for edit in edits:
        assert text.count(edit.old) == 1, edit
        start, common = text.index(edit.old), count_common(edit.old, edit.new)
        ending = count_common(edit.old[common:][::-1], edit.new[common:][::-1])
        places.append(
            (start + common, start + len(edit.old) - ending, edit.new[common : len(edit.new) - ending or None])
        )
    for first, second in zip(sorted(places), sorted(places)[1:], strict=False):
        if first[1] > second[0]:
            return None
    for start, end, new in sorted(places, reverse=True):
        text = f"{text[:start]}{new}{text[end:]}"
    return text


def list_comments(text: str) -> Counter[str]:
    """Count the comments of a text of this file, where a mark within words is none."""
    lines = [line.replace("# not a comment", "").replace("Who #", "Who") for line in text.splitlines()]
    return Counter(line[line.index("#") :].strip() for line in lines if "#" in line)


def sort_lists(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(map(sort_lists, value), key=repr)
    return {key: sort_lists(item) for key, item in value.items()} if isinstance(value, dict) else value


def merge(path: str, *texts: str) -> FileMerge:
    return merge_file(path, MergeSides(*(text.encode() for text in texts)))


def draw_sides(rng: random.Random, path: str) -> tuple[list[Edit], list[Edit]]:
    """Draw the edits of both sides: each edits a part once."""
    sides: list[list[Edit]] = []
    for _ in range(2):
        by_part = {edit.part: edit for edit in rng.sample(EDITS[path], len(EDITS[path]))}
        sides.append(rng.sample(list(by_part.values()), rng.randint(1, 5)))
    return sides[0], sides[1]


def hold(path: str, base: str, edits: tuple[list[Edit], list[Edit]], merged: FileMerge) -> bool:
    """Hold a merge against what both sides did; return whether it is one."""
    text, (ours, theirs) = merged.data.decode(), edits
    clashing = [a for a in ours for b in theirs if a.part == b.part and a.new != b.new]
    if not merged.is_clean:
        assert "<<<<<<<" in text
        assert ">>>>>>>" in text
        return False
    assert "<<<<<<<" not in text
    assert not clashing
    both = apply_edits(base, list(dict.fromkeys([*ours, *theirs])))
    if both is None:
        return True
    value = read_yaml(text.encode(), "merged").value
    assert sort_lists(value) == sort_lists(read_yaml(both.encode(), "both").value)
    assert not list_comments(both) - list_comments(text)
    return True


def test_drawn_edits_of_both_sides(samples: Callable[[int], int]) -> None:
    rng, clean, apart = random.Random(45), 0, 0  # noqa: S311
    for number in range(samples(1200) * 6):
        path = sorted(PATHS)[number % len(PATHS)]
        base, edits = PATHS[path], draw_sides(rng, path)
        texts = [apply_edits(base, side) for side in edits]
        if None in texts:
            continue
        ours, theirs = (str(text) for text in texts)
        merged = merge(path, base, ours, theirs)
        is_merged = hold(path, base, edits, merged)
        other = merge(path, base, theirs, ours)
        assert other.is_clean == merged.is_clean
        if merged.is_clean:
            assert sort_lists(read_yaml(other.data, "x").value) == sort_lists(read_yaml(merged.data, "x").value)
            assert list_comments(other.data.decode()) == list_comments(merged.data.decode())
        is_apart = not any(a.part.split(".")[0] == b.part.split(".")[0] for a in edits[0] for b in edits[1])
        apart += is_apart
        clean += is_apart and is_merged
    assert clean > 0.75 * apart  # the others have a comment at what is edited or gone


def list_artifacts() -> list[Path]:
    folders = [ROOT / "sample_repo", ROOT / "tests/cases"]
    found = (path for folder in folders for path in folder.rglob("*.yaml"))
    return sorted(path for path in found if path.parent.name in {"rubrics", "judges", "datasets"} and is_read(path))


def is_read(path: Path) -> bool:
    with suppress(LoadError, UnicodeDecodeError):
        return isinstance(read_yaml(path.read_bytes(), path.name).value, dict)
    return False


def add_comments(rng: random.Random, text: str, mark: str) -> str:
    """Return a text with comments in places where its value stays: lines of their own, and behind values."""
    value = read_yaml(text.encode(), "x").value
    for number in range(rng.randint(1, 4)):
        lines = text.splitlines(keepends=True)
        place = rng.randrange(len(lines))
        indent = lines[place][: len(lines[place]) - len(lines[place].lstrip(" "))]
        comment = f"# {mark} {number}"
        if rng.random() < 0.6:
            lines.insert(place, f"{indent}{comment}\n")
        else:
            lines[place] = lines[place].rstrip("\n") + f"  {comment}\n"
        new = "".join(lines)
        with suppress(LoadError):
            text = new if read_yaml(new.encode(), "x").value == value else text
    return text


def test_drawn_comments_in_every_artifact_that_there_is(samples: Callable[[int], int]) -> None:
    rng, artifacts, clean = random.Random(47), list_artifacts(), 0  # noqa: S311
    rounds = samples(2400) * 4
    for _ in range(rounds):
        path = rng.choice(artifacts)
        base = path.read_text("utf-8")
        sides = [add_comments(rng, base, mark) for mark in ("mine", "yours")]
        merged = merge(f"{path.parent.name}/{path.name}", base, *sides)
        text = merged.data.decode()
        clean += merged.is_clean
        assert merged.is_clean or "<<<<<<<" in text
        assert [line for side in sides for line in side.splitlines() if line.strip() not in text] == []
        if merged.is_clean:
            assert read_yaml(merged.data, "x").value == read_yaml(base.encode(), "x").value
    assert clean > 0.8 * rounds  # the others have two comments at one value


def list_texts(value: Any, pointer: Pointer = ()) -> Iterator[Pointer]:
    """Yield where the texts of an artifact are that somebody may edit: ids and versions are merged otherwise."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        if isinstance(item, str) and key not in {"id", "version"}:
            yield (*pointer, key)
        elif key != "x_source":
            yield from list_texts(item, (*pointer, key))


def test_drawn_values_and_comments_in_every_artifact_that_there_is(samples: Callable[[int], int]) -> None:
    rng, artifacts, clean = random.Random(48), list_artifacts(), 0  # noqa: S311
    rounds = samples(2400) * 6
    for _ in range(rounds):
        path = rng.choice(artifacts)
        base = read_yaml(path.read_bytes(), path.name)
        places = [rng.choice(list(list_texts(base.value)) or [()]) for _ in range(2)]
        sides = []
        with suppress(LoadError, RefusedError):
            for place, mark in zip(places, ("mine", "yours"), strict=True):
                edited = replace_scalar(base, place, mark).text if place else base.text
                sides.append(add_comments(rng, edited, mark))
        if len(sides) < len(places) or () in places:
            continue  # an alias, or nothing to edit
        merged = merge(f"{path.parent.name}/{path.name}", base.text, *sides)
        text = merged.data.decode()
        clean += merged.is_clean
        found = Counter(re.findall(r"# (?:mine|yours) \d", "".join(sides)))
        assert not found - Counter(re.findall(r"# (?:mine|yours) \d", text))
        assert merged.is_clean or "<<<<<<<" in text
        if merged.is_clean and places[0] != places[1]:
            both = replace_value(replace_value(base.value, places[0], "mine"), places[1], "yours")
            assert sort_lists(read_yaml(merged.data, "x").value) == sort_lists(both)
        elif merged.is_clean:  # a set of texts has both
            value = read_yaml(merged.data, "x").value
            assert {"mine", "yours"} <= {follow_pointer(value, pointer)[1] for pointer in list_texts(value)}
    assert clean > 0.5 * rounds


def test_regions_are_the_whole_text_of_every_artifact() -> None:
    for path in list_artifacts():
        document = read_yaml(path.read_bytes(), path.name)
        assert join_texts(get_region(document)) == document.text


def join_texts(region: Region) -> str:
    """Put a region together from its smallest pieces; those of a flow have commas between them."""
    pieces = cut_region(region)
    if pieces is None or pieces.style != BLOCK:
        return region.text
    texts = [f"{one.above}{one.key}{join_texts(one.value)}{one.rest}" for one in pieces.entries]
    return join_pieces(BLOCK, pieces.head, texts, pieces.tail)


class Case(NamedTuple):
    """Edits of both sides in one file, and what the merge has; nothing for a conflict."""

    path: str
    ours: list[tuple[str, str]]
    theirs: list[tuple[str, str]]
    merged: list[str]


R, J, D = "rubrics/tone.yaml", "judges/accuracy.yaml", "datasets/web.yaml"
CASES = {
    "two weights in one line": Case(
        R, [("calm: 1", "calm: 3")], [("sound: 1}", "sound: 5}")], ["weights: {calm: 3, short: 2, sound: 5}"]
    ),
    "a title next to an owner": Case(
        R, [("title: Tone", "title: Voice")], [("owner: support", "owner: sales")], ["Voice   # as the site", "sales"]
    ),
    "settings of a model": Case(
        J, [("temperature: 0", "temperature: 1")], [("seed: 1}", "seed: 2}")], ["{id: large, temperature: 1, seed: 2}"]
    ),
    "a comment of each above one item": Case(
        R,
        [("  - id: short", "  # mine\n  - id: short")],
        [("  - id: short", "  # yours\n  - id: short")],
        ["  # mine\n  # yours\n  - id: short\n"],
    ),
    "a comment of each behind one value": Case(
        R, [("owner: support", "owner: support  # a")], [("owner: support", "owner: support  # b")], []
    ),
    "one comment changed two ways": Case(
        R, [("# never say it", "# avoid it")], [("# never say it", "# do not say it")], []
    ),
    "a value and the comment behind it": Case(
        R, [("max_chars: 400", "max_chars: 500")], [("# a screen", "# a page")], ["max_chars: 500   # a page"]
    ),
    "a comment at what the other removes": Case(
        R,
        [("  - id: short\n    kind: format\n    max_chars: 400   # a screen\n", "")],
        [("  - id: short\n", "  - id: short  # keep it short\n")],
        [],
    ),
    "a comment within what the other removes": Case(
        D, [("      - second\n", "")], [("      - second\n", "      - second  # or later\n")], []
    ),
    "checks that are no list any more": Case(
        R,
        [(RUBRIC[RUBRIC.index("checks:") : RUBRIC.index("scoring:")], "checks: 5\n")],
        [("max_chars: 400", "max_chars: 5")],
        [],
    ),
    "checks that are a mapping": Case(
        R, [("checks:\n", "checks:\n  a:\n")], [("max_chars: 400", "max_chars: 5")], ["  a:\n", "max_chars: 5 "]
    ),
    "measurements of each are a record": Case(J, [("tpr: 0.9", "tpr: 0.91")], [("tnr: 0.8", "tnr: 0.81")], []),
    "a fact of each in a block": Case(
        D,
        [("      - second\n", "      - second\n      - mine  # m\n")],
        [("      - second\n", "      - second\n      - yours  # y\n")],
        ["      - second\n      - mine  # m\n      - yours  # y\n"],
    ),
    "both add one key in two ways": Case(
        R, [("owner: support", "owner: support\nx_a: 1")], [("owner: support", "owner: support\nx_a: 2")], []
    ),
    "a question of each": Case(
        D,
        [("  - id: two\n", "  # mine\n  - {id: m, input: M?}\n  - id: two\n")],
        [("  - id: two\n", "  # yours\n  - {id: y, input: Y?}\n  - id: two\n")],
        ["  # mine\n  - {id: m, input: M?}\n  # yours\n  - {id: y, input: Y?}\n"],
    ),
}


def make_texts(case: Case) -> list[str]:
    texts = [PATHS[case.path]]
    for edits in (case.ours, case.theirs):
        text = PATHS[case.path]
        for old, new in edits:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        texts.append(text)
    return texts


@each(CASES)
def test_edits_that_meet(name: str) -> None:
    case = CASES[name]
    merged = merge(case.path, *make_texts(case))
    text = merged.data.decode()
    assert (merged.is_clean, "<<<<<<<" in text) == (bool(case.merged), not case.merged)
    assert [part for part in case.merged if part not in text] == []


@each([b"- a\n", b"checks: 5\n", b"a\n", b"\xff\n", b"checks: {a: [1]}\n", b"", b"checks: [[1], a]\nscoring: 1\n"])
def test_no_shape_of_a_side_ends_the_driver(odd: bytes) -> None:
    edited = RUBRIC.replace("max_chars: 400", "max_chars: 5").encode()
    for path in PATHS:
        for sides in ((RUBRIC.encode(), odd, edited), (RUBRIC.encode(), edited, odd), (odd, RUBRIC.encode(), edited)):
            merged = merge_file(path, MergeSides(*sides))
            assert merged.is_clean or b"<<<<<<<" in merged.data or b"\xff" in odd


def test_a_row_with_two_meanings_is_a_conflict_however_far_apart() -> None:
    rows = [f'{{"id": "{number}", "input": "Why?"}}\n' for number in range(9)]
    base = "".join(rows)
    merged = merge(
        "datasets/web.jsonl", base, '{"id": "new", "input": "A?"}\n' + base, base + '{"id": "new", "input": "B?"}\n'
    )
    assert not merged.is_clean
    assert b"<<<<<<<" in merged.data


@pytest.mark.process
def test_git_merges_drawn_edits(
    cli: Callable[..., Any], git: Callable[..., str], tmp_path: Path, samples: Callable[[int], int]
) -> None:
    repo = tmp_path / "repo"
    git()
    for path, text in PATHS.items():
        (repo / path).parent.mkdir()
        (repo / path).write_text(text)
    cli("-C", repo, "init", "--merge-driver")
    git("config", "merge.evalstore.driver", f"{sys.executable} -m evalstore git-driver merge -- %O %A %B %P")
    git("add", ".")
    git("commit", "-q", "-m", "Start")
    rng = random.Random(46)  # noqa: S311
    for number in range(max(2, samples(60))):
        edits = {path: draw_sides(rng, path) for path in PATHS}
        texts = {path: [apply_edits(PATHS[path], side) for side in sides] for path, sides in edits.items()}
        if any(None in pair for pair in texts.values()):
            continue
        for side, branch in enumerate(("ours", "theirs")):
            git("switch", "-q", "-c", f"{branch}{number}", "main")
            for path, pair in texts.items():
                (repo / path).write_text(str(pair[side]))
            git("commit", "-q", "-am", branch)
        git("switch", "-q", f"ours{number}")
        ran = subprocess.run(
            ["git", "merge", "-q", "--no-edit", f"theirs{number}"], cwd=repo, capture_output=True, check=False
        )
        unmerged = git("diff", "--name-only", "--diff-filter=U").split()
        assert ran.returncode == bool(unmerged)
        for path, base in PATHS.items():
            hold(path, base, edits[path], FileMerge((repo / path).read_bytes(), is_clean=path not in unmerged))
        git("merge" if unmerged else "status", "--abort" if unmerged else "-s")
