from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from evalstore.languages.schemas import compile_schema
from evalstore.places import find_resource_folder

from .conftest import World

Cli = Callable[..., Any]


@pytest.mark.heavy
def test_the_text_names_who_refers_what_that_leads_to_and_what_stays_behind(world: World, cli: Cli) -> None:
    ran = cli("-C", world.top, "impact", "judge/accuracy")
    assert ran.out == (
        "judge/accuracy (released as 1.0.0) reaches 4 rubrics, 2 datasets and 4 questions\n"
        "\n"
        "referred to by\n"
        "  rubric/exact  @1.0.0  stays                    rubrics/exact.yaml:4 (+1)\n"
        "  rubric/loose  no pin  follows                  rubrics/loose.yaml:4\n"
        "  rubric/range  @^1     follows patch and minor  rubrics/range.yaml:4\n"
        "\n"
        "through them\n"
        "  dataset/big   by rubric/exact@1.0.0       datasets/big.jsonl:1  1 of 2 questions\n"
        "  dataset/web   by rubric/range@1.0.0 (+1)  datasets/web.yaml:8   3 of 4 questions\n"
        "  rubric/whole  by rubric/exact@1.0.0       rubrics/whole.yaml:4\n"
        "\n"
        "1 reference pins a release; --dependents moves them: evalstore bump judge/accuracy --dependents\n"
    )


@pytest.mark.heavy
def test_the_text_for_a_version_names_releases_too(world: World, cli: Cli) -> None:
    out = cli("-C", world.top, "impact", "rubric/exact@1.0.0").out
    assert out.endswith(
        "releases that refer to it\n  dataset/big   1.0.0\n  rubric/whole  1.0.0\n  dataset/web   1.0.0\n"
    )


def test_nothing_is_said_in_one_line(world: World, cli: Cli) -> None:
    assert cli("-C", world.top, "impact", "rubric/loose").out == "nothing refers to rubric/loose\n"


@pytest.mark.heavy
@pytest.mark.parametrize("ref", ["judge/accuracy", "rubric/exact@1.0.0", "rubric/loose"])
def test_the_document_is_what_its_schema_says(world: World, cli: Cli, ref: str) -> None:
    document = json.loads(cli("-C", world.top, "impact", ref, "--format", "json").out)
    schema = json.loads((find_resource_folder("schema") / "output/impact.schema.json").read_text("utf-8"))
    assert list(compile_schema(schema).find_violations(document)) == []


def test_the_mermaid_graph_is_a_block_with_dotted_lines_for_what_floats(world: World, cli: Cli) -> None:
    lines = cli("-C", world.top, "impact", "judge/accuracy", "--format", "mermaid").out.splitlines()
    assert (lines[:3], lines[-1]) == (["```mermaid", "graph LR", '  judge_accuracy["judge/accuracy 1.0.0"]'], "```")
    assert '  dataset_web["dataset/web 1.0.0<br>3 of 4 questions"]' in lines
    assert '  judge_accuracy -->|"1.0.0"| rubric_exact' in lines
    assert '  judge_accuracy -.->|"^1"| rubric_range' in lines
    assert '  judge_accuracy -.->|"no pin"| rubric_loose' in lines


@pytest.mark.heavy
def test_a_mermaid_graph_shows_no_more_than_a_page_can_draw(world: World, cli: Cli) -> None:
    for number in range(250):
        world.rubric(f"many_{number}", "judge/accuracy@>=1 <2")
    lines = cli("-C", world.top, "impact", "judge/accuracy", "--format", "mermaid").out.splitlines()
    assert '  judge_accuracy -.->|"#62;=1 #60;2"| rubric_many_0' in lines
    assert sum(">|" in line for line in lines) == 200
    assert lines[-2] == '  more["57 more references"]'


def test_the_dot_graph_has_every_node_and_arrow_once(world: World, cli: Cli) -> None:
    out = cli("-C", world.top, "impact", "judge/accuracy", "--format", "dot").out
    assert out.startswith("digraph impact {\n")
    assert out.endswith("}\n")
    arrows = re.findall(r'  "(\S+)" -> "(\S+)" \[label="([^"]*)"(, style=dashed)?\];', out)
    assert ("judge/accuracy", "rubric/range", "^1", ", style=dashed") in arrows
    assert len({arrow[:2] for arrow in arrows}) == len(arrows) == out.count("->") == 7


@pytest.mark.heavy
def test_long_tables_end_with_how_much_is_left_out(world: World, cli: Cli) -> None:
    for number in range(40):
        world.rubric(f"many_{number}", "judge/accuracy@1.0.0")
    assert "  and 3 more; --verbose lists them all\n" in cli("-C", world.top, "impact", "judge/accuracy").out
    assert " more; " not in cli("-C", world.top, "impact", "judge/accuracy", "--verbose").out


def test_help_has_examples(cli: Cli) -> None:
    assert "evalstore impact judge/accuracy\n" in cli("impact", "--help").out
