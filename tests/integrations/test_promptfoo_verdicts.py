"""Random configurations, graded by promptfoo itself and by the rubrics that a migration makes of them.

EVALSTORE_PROMPTFOO names the folders, separated by colons, in which a release of the npm package is installed:
`npm install --prefix FOLDER --ignore-scripts promptfoo@0.121.20`.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evalstore.migration.extraction import LegacyCase
from tests.integrations.test_programs import QUIET
from tests.migrate.promptfoo_grading import grade_case, read_config

FOLDERS = [Path(name) for name in os.environ.get("EVALSTORE_PROMPTFOO", "").split(":") if name]
SCRIPT = Path(__file__).with_name("peers") / "promptfoo_verdicts.mjs"
CONFIGS, SEED = 150, int(os.environ.get("EVALSTORE_SEED", "1"))

TEXTS = [
    "", "a", "b", "ab", "a b", "A B", "Straße", "STRASSE", "1", "1.0", "0", "{}", '{"a":1}', '{"a":"x","b":[1]}', "[1,2]",
    "null", " a ", "a\nb", "a\n", "yes", "naïve", "a,b", '"a"', "one two three", "10:30", "é", "ΟΔΟΣ", "οδος", "😀", "a😀b",
]  # fmt: skip
WORDS = [
    "a",
    "b",
    "A",
    "x",
    "1",
    "0",
    "a b",
    "ss",
    "é",
    "{{ w }}",
    "{{w}} b",
    ",",
    '"a, b"',
    "a, b",
    '"a',
    "οδος",
    "😀",
    "",
]
PATTERNS = [
    "a", "^a", "a$", "^a.b$", r"\d+", r"^\w+$", r"\s", "[^a]", "a|b", "(a", "a**", "(?i)A", ".", r"\bа", "^$", "a{2,}", "{", "[]",
    r"[\s\S]", r"^[\s\S]{1,3}$", r"^.{1,3}$", "(?:a|b)+", "(?=a)", r"\W", r"a\.b", "é",
    "^..$", "[^a]b", "😀+$", "(a.)+", "^[^b]{2}", "[😀]b", r"\ud83d", r"[\ud800-\udbff]", r"\S\S\S",
]  # fmt: skip
CODES = [
    "output.includes('a') && output.length < 3", "(output === 'a' || output.endsWith('b')) && !/a.b/.test(output)",
    "output.toLowerCase().trim().startsWith('a') ? 1 : 0", "JSON.parse(output).a === 1 || JSON.parse(output).a === 'x'",
    "const o = JSON.parse(output);\nreturn Array.isArray(o.b) && typeof o.a === 'string';", "JSON.parse(output).length === 2",
    "(() => { try { const o = JSON.parse(output); return String(o.a) === '1'; } catch { return false; } })()",
    "output.length < 2", "output.length === 2 || output.length > 3", "!(output.length <= 4) || output.includes('😀b')",
    "output.length >= 2 && /^..$/.test(output)",
]  # fmt: skip
TRANSFORMS = [
    "output.trim()", "output.replace(/a/g, '')", "output.replace('a', '').trim();", "output.replace(/^a|b$/gm, '').toLowerCase()",
    "\nreturn output.replace(/[A-Z]/i, '')\n  .trim();\n", "return output.trim();", "output.trim()\n", "JSON.parse(output).a",
    "output.replace(/a/g, 'b')", 'output.replace(/^[\\s\\S]*?b/, "")',
]  # fmt: skip
SCHEMAS: list[Any] = [
    {"type": "object"},
    {"type": "object", "required": ["a"]},
    {"type": "array"},
    {},
    '{"type":"object"}',
    {"properties": {"a": {"pattern": r"^\w$"}}, "items": [{"enum": [1]}]},
]


def draw_value(draw: random.Random, type_: str) -> Any:
    base = type_.removeprefix("not-")
    if base in {"contains", "icontains", "starts-with"}:
        return draw.choice([*WORDS, 1, 0, 1.0])
    if base in {"contains-any", "contains-all", "icontains-any", "icontains-all"}:
        return draw.choice([draw.choices([*WORDS, 1, None, True], k=draw.randint(0, 3)), draw.choice(WORDS)])
    if base == "equals":
        return draw.choice([*TEXTS, 1, 1.0, True, None, {"a": 1}, [1, 2], "{{ w }}"])
    if base == "regex":
        return draw.choice(PATTERNS)
    if base == "javascript":
        return draw.choice(CODES)
    if base == "is-json":
        return draw.choice([*SCHEMAS, None])
    if base == "word-count":
        return draw.choice(
            [0, 1, 2, 3, "2", {"min": 1}, {"max": 2}, {"min": 1, "max": 2}, {"min": 0}, {"min": 3, "max": 1}]
        )
    return draw.choice(WORDS)


def draw_assertion(draw: random.Random, types: list[str]) -> dict[str, Any]:
    type_ = draw.choice(["", "", "not-"]) + draw.choice(types)
    value = draw_value(draw, type_)
    assertion: dict[str, Any] = {"type": type_, **({} if value is None and "json" in type_ else {"value": value})}
    if draw.random() < 0.2:
        assertion["weight"] = draw.choice([0, 0.5, 2, 3])
    if draw.random() < 0.15:
        assertion["transform"] = draw.choice(TRANSFORMS)
    if "levenshtein" in type_:
        assertion["threshold"] = draw.choice([0, 0.5, 3])
    return assertion


def draw_test(draw: random.Random, types: list[str]) -> dict[str, Any]:
    asserts = [draw_assertion(draw, types) for _ in range(draw.randint(0, 4))]
    if draw.random() < 0.2:
        members = [draw_assertion(draw, types) for _ in range(draw.randint(0, 3))]
        bar = {"threshold": draw.choice([0, 0.5, 1])} if draw.random() < 0.5 else {}
        asserts.append({"type": "assert-set", "assert": members, **bar})
    test: dict[str, Any] = {"vars": {"out": draw.choice(TEXTS), "w": draw.choice(["a", "b", "x"])}, "assert": asserts}
    if draw.random() < 0.3:
        test["threshold"] = draw.choice([0, 0.3, 0.5, 1])
    if draw.random() < 0.1:
        test["options"] = {"disableDefaultAsserts": True}
    elif draw.random() < 0.1:
        test["options"] = {"transform": draw.choice(TRANSFORMS)}
    return test


def draw_config(draw: random.Random, types: list[str]) -> dict[str, Any]:
    config: dict[str, Any] = {
        "prompts": ["{{ w }}"],
        "tests": [draw_test(draw, types) for _ in range(draw.randint(1, 5))],
    }
    if draw.random() < 0.4:
        config["defaultTest"] = {"assert": [draw_assertion(draw, types)]}
    if draw.random() < 0.2:
        config["tests"][0]["vars"]["w"] = ["a", "x"]
    if draw.random() < 0.2:
        scenario = {"config": [{"vars": {"w": "a"}}, {"vars": {"w": "b"}}], "tests": [draw_test(draw, types)]}
        config["scenarios"] = [scenario]
    return config


def compare(case: LegacyCase, drafts: Any, verdict: dict[str, Any]) -> str:
    output = case.question.get("metadata", {}).get("vars", {}).get("out", "").removesuffix("\n")  # as the program
    if case.rubric is None:
        return "declared"
    if verdict["error"]:
        return "is graded, and is an error there" if case.outcome == "migrated" else "declared"
    found = grade_case(case, drafts, output)
    if found == (verdict["success"], pytest.approx(verdict["score"])):
        return "equal"
    return "declared" if case.outcome != "migrated" else f"gives {found}"


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(not FOLDERS, reason="EVALSTORE_PROMPTFOO names no folder with promptfoo")
@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_random_configurations_are_graded_as_the_program_grades_them(folder: Path, tmp_path: Path) -> None:
    node = shutil.which("node") or pytest.skip("Node.js is not installed")
    package = json.loads((folder / "node_modules/promptfoo/package.json").read_text("utf-8"))
    release = ".".join(package["version"].split(".")[:2])
    types = ["contains", "icontains", "contains-any", "contains-all", "icontains-any", "icontains-all", "equals"]
    types += [
        "starts-with",
        "regex",
        "is-json",
        "levenshtein",
        "javascript",
        *(["word-count"] if release != "0.118" else []),
    ]
    draw = random.Random(SEED)  # noqa: S311  # nothing secret
    configs = [draw_config(draw, types) for _ in range(CONFIGS)]
    (tmp_path / "in.json").write_text(json.dumps(configs), "utf-8")
    own = {"PROMPTFOO_CONFIG_DIR": str(tmp_path / "promptfoo"), "HOME": str(tmp_path), "LOG_LEVEL": "error"}
    argv = [node, str(SCRIPT), str(folder), str(tmp_path / "in.json"), str(tmp_path / "out.json")]
    done = subprocess.run(argv, env={**os.environ, **QUIET, **own}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counts: Counter[str] = Counter()
    differ: list[Any] = []
    for config, verdicts in zip(configs, json.loads((tmp_path / "out.json").read_text("utf-8")), strict=True):
        extraction = read_config(json.dumps(config), "config.json", {}, release)
        if isinstance(verdicts, str):
            counts["refused there"] += 1
            continue
        assert len(verdicts) == len(extraction.cases), config
        for case, verdict in zip(extraction.cases, verdicts, strict=True):
            said = compare(case, extraction.drafts, verdict)
            counts[said if said in {"equal", "declared"} else "differ"] += 1
            if said not in {"equal", "declared"}:
                differ.append((said, verdict, case.raw))
    print(release, dict(counts))  # noqa: T201  # what was measured
    assert not differ, differ[:3]
    assert counts["equal"] > CONFIGS
