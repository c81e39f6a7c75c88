"""Of thousands of random files, a bump changes the version and the pins that move, and not one byte beside them."""

from __future__ import annotations

import io
import json
from random import Random

import pytest

from evalstore.documents import encode_document, read_row, read_yaml
from evalstore.model import Artifact, Kind
from evalstore.release.dependencies.pins import move_artifact_pins, move_pins_in_rows, move_row_pin
from evalstore.release.publishing.step import _set_version
from evalstore.versions import parse_version

SEED = 20260907
OLD, NEW, PIN, MOVED = "1.0.0", "2.0.0", "judge/accuracy@1.0.0", "judge/accuracy@2.0.0"
# What stands in the way: texts that look like the scalars that change, and layouts that a rewriter would lose.
NOISE = [
    "# version: 1.0.0 and judge/accuracy@1.0.0",
    "title: 'version: 1.0.0 # no comment'",
    'owner: "judge/accuracy@1.0.0 \\u00e9 \\t"',
    "description: |\n  version: 1.0.0\n    - judge/accuracy@1.0.0\n\n  end   ",
    "description: >-\n  folded\n    - bullet that is longer than eighty columns, so that a writer would break it, and lose\n  version: 1.0.0",
    "x_number: 1.50",
    "x_exponent: 1E+2",
    "metadata: {b: 1,   a: [1.0.0, 'it''s'], }",
    "tags: [  a,b ]   # judge/accuracy@1.0.0",
    "x_empty:",
    "x_unicode: ☃ 漢字  # ☃",
    "? x_explicit\n: [- 1, 2]".replace("[- 1", "[-1"),
    "",
    "   ",
]
VERSIONS = [
    "version: {}",
    "version:   {}   # {{}}",
    "'version': '{}'",
    '"version" : "{}"',
    "version:\n    {}",
    "version: !!str {}",
    "version: &v {}",
    "? version\n: {}",
]
PINS = ["{}", "'{}'", '"{}"', "!!str {}", "&p{n} {}", "{}   # moved"]


def artifact(text: str, kind: Kind) -> Artifact:
    return Artifact(kind, "x", OLD, read_yaml(text.encode(), "f"))


def template(random: Random) -> str:
    """Return a rubric with @V and @P where the version and pins of the judge stand."""
    noise = random.sample(NOISE, random.randint(0, 6))
    keys = {line.partition(":")[0]: line for line in noise}  # no key twice
    version = random.choice(VERSIONS).replace("{{}}", "1.0.0").replace("{}", "@V")
    blocks = [*keys.values(), "id: x", version, checks(random), "scoring: {combine: all_pass}"]
    random.shuffle(blocks)
    text = "\n".join([*(["---"] if random.random() < 0.2 else []), *blocks]) + random.choice(["\n", "", "\n\n# end\n"])
    text = text.replace("\n", random.choice(["\n", "\n", "\r\n"]))
    return random.choice(["", "", "\ufeff"]) + text


def checks(random: Random) -> str:
    lines = []
    for number in range(random.randint(1, 4)):
        pin = random.choice(PINS).replace("{n}", str(number)).replace("{}", "@P")
        other = random.choice(["judge/other@1.0.0", "judge/accuracy@^1.0.0", "judge/accuracy@3.0.0"])
        lines.append(f"  - kind: llm_judge\n    judge_prompt_ref: {random.choice([pin, pin, other])}")
        lines.append(f"  - {{kind: llm_judge, id: c{number}, judge_prompt_ref: '@P'}}")
    return "checks:\n" + "\n".join(random.sample(lines, len(lines)))


def filled(text: str, version: str, pin: str) -> bytes:
    return text.replace("@V", version).replace("@P", pin).encode()


def check_files(count: int) -> int:
    random, moved = Random(SEED), 0  # noqa: S311  # the same files every time
    for _ in range(count):
        text = template(random)
        before = artifact(filled(text, OLD, PIN).decode(), Kind.RUBRIC)
        after = _set_version(move_artifact_pins(before, {PIN: MOVED}), parse_version(NEW))
        assert encode_document(after.document) == filled(text, NEW, MOVED), text
        moved += "@P" in text
    return moved


def row(random: Random) -> tuple[str, str]:
    """Return a line before and after the move, white space and escapes as other tools write them."""
    space = [random.choice(["", " ", "\t "]) for _ in range(4)]
    text = json.dumps(random.choice(["Why?", "é ☃", "a\\b/c", PIN, '"' + PIN]), ensure_ascii=random.random() < 0.5)
    members = [f'"id"{space[0]}:{space[1]}"q"', f'"input":{text}', f'"n": {random.choice(["1.50", "1E+2", "null"])}']
    pin = random.choice([f'"{PIN}"', f'"{PIN}"', json.dumps(PIN).replace("/", "\\/"), '"\\u006audge/accuracy@1.0.0"'])
    key = random.choice(['"rubric_ref"', '"rubric_ref"', '"rubric\\u005fref"', '"other"'])
    members.insert(random.randint(0, 3), f"{key}{space[2]}:{space[3]}@@")
    line = "{" + random.choice([",", ", "]).join(members) + "}" + random.choice(["\n", "\r\n"])
    return line.replace("@@", pin), line.replace("@@", pin if "other" in key else f'"{MOVED}"')


def check_rows(count: int) -> int:
    random = Random(SEED)  # noqa: S311  # the same rows every time
    pairs = [row(random) for _ in range(count)]
    moves = {PIN: MOVED}
    before, after = ("".join(side).encode() for side in zip(*pairs, strict=True))
    assert b"".join(move_pins_in_rows(io.BytesIO(before), moves)) == after
    for old, new in pairs:
        assert read_row(new.encode(), "f", 1) == move_row_pin(read_row(old.encode(), "f", 1), moves)
    return sum(old != new for old, new in pairs)


def test_of_random_files_only_the_version_and_the_pins_change() -> None:
    assert check_files(600) > 500


def test_of_random_rows_only_the_pin_changes() -> None:
    assert check_rows(2000) > 1000


@pytest.mark.slow
def test_of_ten_thousand_files_only_the_version_and_the_pins_change() -> None:
    assert check_files(10_000) > 9_000
    assert check_rows(100_000) > 50_000
