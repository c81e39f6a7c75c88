"""What the project says of itself is true: pages come from the code, links lead somewhere, and what they say works."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

import evalstore
from evalstore.cli.main import COMMANDS, GROUPS
from evalstore.migration.table import list_formats
from tests.project import generate
from tests.project.sources import list_test_functions

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
GENERATED = generate.render_pages()
LINK = re.compile(r"\]\(([^)\s]+)\)")
LINE = re.compile(r"^\$ (.*?)(?:\s{2,}#.*)?$", re.MULTILINE)
STEP = re.compile(r"^\$ (.*?)(?:\s+# (.*))?$", re.MULTILINE)  # with what a comment asks of the reader


@pytest.mark.parametrize("name", GENERATED)
def test_a_page_from_the_code_is_fresh(name: str) -> None:
    assert GENERATED[name] == PAGES.get(f"docs/{name}"), "run `python -m tests.project.generate`"


@pytest.mark.parametrize("root", ["dataset", "rubric", "judge", "result"])
def test_the_page_of_a_format_has_every_key_of_its_schema(root: str) -> None:
    """Whatever a schema gains is on its page, at any depth."""
    schema = json.loads((ROOT / f"schema/{root}.schema.json").read_text("utf-8"))
    keys = set(list_keys(schema))
    assert len(keys) > 15
    assert {key for key in keys if f"| `{key}` |" not in PAGES[f"docs/{root}.md"]} <= {"kind"}


def list_keys(schema: Any) -> Iterator[str]:
    """Yield the names of the keys that a schema describes, wherever it does."""
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        keys = schema["properties"].items()
        yield from (name for name, one in keys if isinstance(one, dict) and {"$ref", "description"} & set(one))
    for part in parts:
        yield from list_keys(part)


def test_every_command_is_in_one_group() -> None:
    listed = [name for commands in GROUPS.values() for name in commands]
    assert sorted(listed) == sorted(COMMANDS)
    assert list(GROUPS) == ["Write", "Release", "Score", "Explain"]


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    for target in LINK.findall(PAGES[name]):
        if not target.startswith(("https://", "samples/")):  # the samples are made with the site
            assert (ROOT / name).parent.joinpath(target.partition("#")[0]).exists(), target


NOBODYS = b"evalstore" + b".dev"  # a host that the project does not own


def test_nothing_refers_to_a_host_that_is_not_ours() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    assert [path for path in paths if path.is_file() and NOBODYS in path.read_bytes()] == []


def test_every_page_is_part_of_the_site() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    assert sorted(re.findall(r"[a-z]+\.md", str(config["nav"]))) == sorted(
        name.removeprefix("docs/") for name in PAGES if name != "README.md"
    )


MKDOCS = ROOT / ".venv/docs/bin/mkdocs"


@pytest.mark.process
@pytest.mark.skipif(not MKDOCS.exists(), reason="make .venv/docs.stamp installs MkDocs")
def test_the_site_has_no_broken_link_and_serves_the_schemas(demo: Any, cli: Callable[..., Any], tmp_path: Path) -> None:
    made, site = tmp_path / "samples", tmp_path / "site"
    assert cli("site", str(made), "--quiet", cwd=demo.folder).code == 0
    env = {**os.environ, "SAMPLES": str(made), "NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(
        [MKDOCS, "build", "--quiet", "--site-dir", site], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    for name in ("rubric", "judge", "dataset", "result", "checks/regex", "output/audit"):
        path = f"schema/{name}.schema.json"
        assert (site / path).read_bytes() == (ROOT / path).read_bytes()
    for page in site.glob("*.html"):
        for link in re.findall(r'(?:href|src)="?([^"\s>#?]+)', page.read_text("utf-8")):
            assert ":" in link or page.name == "404.html" or (site / link).exists(), (page.name, link)
    assert "The score fell by 6.79 points" in (site / "samples/audits/1.html").read_text("utf-8")
    assert len(json.loads((site / "search/search_index.json").read_text("utf-8"))["docs"]) > 100


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for name, text in PAGES.items():
        for line in LINE.findall(text):
            for part in re.split(r"&&|[>|]", line):
                words = shlex.split(part, comments=True)
                if words[:1] == ["evalstore"]:
                    yield name, words[1:]
        for code in re.findall(r"(?<!`)`evalstore ([a-z-][^`]*)`", text):
            yield name, " ".join(code.split()).replace("'", "").split(" ")


def test_every_command_line_is_one_that_evalstore_reads() -> None:
    """Each command, and each option that the pages give it, is there."""
    from importlib import import_module

    lines = list(command_lines())
    assert len(lines) > 150
    for name, words in lines:
        argv = words[2:] if words[0] == "-C" else words
        if argv[0].startswith("--"):
            continue
        assert argv[0] in COMMANDS, (name, words)
        command = import_module(f"evalstore.cli.{argv[0]}").command
        if argv[0] == "judge":
            command, argv = command.commands[argv[1]], argv[1:]
        known = {option for param in command.params for option in (*param.opts, *param.secondary_opts)} | {"--help"}
        used = {word.partition("=")[0] for word in argv[1:] if word.startswith("--")}
        assert used <= known, (name, words)


def test_the_readme_is_read_in_five_minutes() -> None:
    assert 4_000 <= len(README.encode()) <= 5_000
    assert re.findall(r"\b(?:sed|rm)\b", README) == []


def test_every_line_of_the_readme_is_run_by_a_test() -> None:
    """Of its console blocks, the launchers' by `test_wheel.py` and the rest below; targets of make stand in the Makefile."""
    lines = [line.split()[0] for line in LINE.findall(README)]
    assert lines[:4] == ["make", "make", "uvx", "pipx"]
    assert set(lines[4:]) == {"evalstore", "$EDITOR"}
    targets = set(re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    used = set(re.findall(r"(?:`|^\$ )make ([\w-]+)", README, re.MULTILINE))
    assert used
    assert used <= targets


def test_the_numbers_of_the_readme_are_those_of_their_evidence() -> None:
    evidence = PAGES["docs/proof.md"].partition("## How it was tested")[2]
    edits, kills = re.findall(r"^- \*\*0 of ([\d,]+)\*\*", README, re.MULTILINE)
    assert "](docs/proof.md#how-it-was-tested)" in README
    for number in (edits, kills):
        assert f"**0 of {number}**" in evidence
    assert f"tests.diff.fuzz --count {edits.replace(',', '')} --seed" in evidence
    word, *paths = re.findall(r"pytest -m chaos -rP -k (\w+) ([\w/.]+) ([\w/.]+)", evidence)[0]
    for path in paths:
        assert [name for name in list_test_functions(ROOT / path) if word in name], path


def test_the_figure_has_the_numbers_of_the_audit() -> None:
    figure = (ROOT / "docs/why.svg").read_text("utf-8")
    audit = README.partition("```\nThe score fell")[2].partition("```")[0]
    shown = re.findall(r">([+-]?\d+\.\d\d)<", figure)
    assert len(shown) == 5
    assert all(number in audit for number in shown)
    assert "prefers-color-scheme: dark" in figure
    assert audit in PAGES["docs/why.md"]


def test_what_the_python_page_imports_is_there() -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGES["docs/python.md"], re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module == "evalstore":
                assert {alias.name for alias in node.names} <= set(evalstore.__all__)
    for module, names in re.findall(r"`evalstore\.integrations\.(\w+)\.(\w+)`", PAGES["docs/python.md"]):
        folder = ROOT / "evalstore/integrations"
        source = folder / f"{module}.py" if (folder / f"{module}.py").exists() else folder / module / "__init__.py"
        assert names in source.read_text("utf-8")


def play(
    text: str, cli: Callable[..., Any], folder: Path, git: Callable[..., str] | None = None, origin: Path | None = None
) -> list[tuple[str, Any]]:
    """Run the lines of a page: those of evalstore by the command, git's by git, and the few of a shell by hand.

    What a page clones is `origin`.
    """
    told = []
    for line, comment in STEP.findall(text):
        words = shlex.split(line)
        if words[0] == "evalstore":
            told.append((line, cli(*words[1:], cwd=folder)))
        elif words[0] == "mkdir":
            (folder / words[1]).mkdir()
        elif words[0] == "cd":
            folder = folder / words[1]
        elif words[0] == "echo":
            with (folder / words[3]).open({">": "w", ">>": "a"}[words[2]], encoding="utf-8") as file:
                file.write(words[1] + "\n")
        elif words[0] == "jq":
            assert words[1:3] == ["-c", "del(.verdict)"], line
            rows = [json.loads(row) for row in (folder / words[3]).read_text("utf-8").splitlines()]
            kept = ({key: value for key, value in row.items() if key != "verdict"} for row in rows)
            (folder / words[5]).write_text("".join(f"{json.dumps(row)}\n" for row in kept), "utf-8")
        elif words[0] == "$EDITOR":
            edit(folder / words[1], *read_edit(comment))
        elif words[:2] == ["git", "clone"]:
            assert git
            git("clone", "-q", str(origin), words[2].rpartition("/")[2].removesuffix(".git"), cwd=folder)
        elif words[0] == "git" and git:
            git(*words[1:], cwd=folder)
        else:
            assert words[0] in {"git", "export"}, line
    return told


def read_edit(comment: str) -> tuple[str, str]:
    """Return what a comment asks the reader to replace in a file, and by what."""
    if word := re.search(r"add (.+) to the values", comment):
        return '"as an AI"', f'"as an AI", {word[1]}'
    found = re.search(r'"(.+)" becomes "(.+)"', comment)
    assert found, comment
    return found[1], found[2]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_the_quick_start_ends_in_why_the_score_fell(cli: Callable[..., Any], tmp_path: Path) -> None:
    start = README.partition("## Start")[2].partition("## Why")[0]
    told = play(start.partition("```console")[2].partition("```")[0], cli, tmp_path)
    assert [ran.code for _, ran in told] == [0] * len(told), [ran.err for _, ran in told]
    assert "First score: 81.25 (" in told[0][1].out
    assert len(told) <= 10
    said = next(ran.out for line, ran in told if line == "evalstore diff")
    for line in start.partition("```\nMAJOR  ")[2].partition("```")[0].splitlines():
        assert line.strip() == "…" or line in said
    assert "the score fell by 6.25 points: the rubric took 6.25" in told[-1][1].out.lower()
    assert re.search(r'"(The score fell by 6.25 points: the rubric took\s6.25)"', start)


# What differs from run to run: commits, and days.
CHANGING = re.compile(r"\b([0-9a-f]{12}|[0-9a-f]{7}(?= 2)|20[0-9]{2}-[0-9]{2}-[0-9]{2})\b")


def list_expected(page: str) -> list[list[str]]:
    """Return what a page shows below each of its commands of evalstore, line by line."""
    blocks = re.findall(r"```console\n(.*?)\n```", page, re.DOTALL)
    steps = [step.split("\n") for block in blocks for step in block.removeprefix("$ ").split("\n$ ")]
    return [lines[1:] for lines in steps if lines[0].startswith("evalstore ")]


def is_shown(expected: list[str], said: list[str]) -> bool:
    """Whether a text is as shown, where `…` stands for any lines."""
    shown = ["…" if line.strip() == "…" else CHANGING.sub("#", line) for line in expected]
    lines = iter(CHANGING.sub("#", line) for line in said)
    for index, line in enumerate(shown):
        after_gap = index > 0 and shown[index - 1] == "…"
        if line == "…":
            continue
        if not (line in lines if after_gap else next(lines, None) == line):
            return False
    return shown[-1:] == ["…"] or next(lines, None) is None


def test_what_is_shown_is_compared_line_by_line() -> None:
    said = ["one", "in commit 0123456789ab", "", "last"]
    for shown in (said, ["…", "last"], ["one", "…"], ["…", "in commit ba9876543210", "…"]):
        assert is_shown(shown, said)
    for shown in (["one"], ["…", "lost", "…"], ["two", "…"], ["…", "last", "one"], ["one", "last"]):
        assert not is_shown(shown, said)


@pytest.mark.heavy
def test_the_tutorial_goes_from_an_empty_folder_to_an_audit(cli: Callable[..., Any], tmp_path: Path) -> None:
    page = PAGES["docs/tutorial.md"]
    first, _, second = page.partition("## A tighter rubric")
    told = play(first, cli, tmp_path)
    store = tmp_path / "evals"
    path = store / "rubrics/answer_style.yaml"
    path.write_text(path.read_text("utf-8").replace("      - RMA\n", "      - RMA\n      - Of course\n"), "utf-8")
    told += play(second.partition("From here")[0], cli, store)
    assert len(told) > 12
    compare_with_page(page, told, ("status --check",))


def compare_with_page(page: str, told: list[tuple[str, Any]], refusals: tuple[str, ...] = ()) -> None:
    """Compare what each command answered with what the page shows of it, if anything; `refusals` are lines that answer 1."""
    expected = list_expected(page)
    assert len(told) == len(expected)
    for (line, ran), shown in zip(told, expected, strict=True):
        assert ran.code == any(word in line for word in refusals), (line, ran.err)
        said = (ran.out, ran.out + ran.next_steps)  # a page may leave out what comes next
        assert not shown or any(is_shown(shown, text.removesuffix("\n").split("\n")) for text in said), (line, ran.out)


def test_the_ten_lines_of_the_home_page_run(cli: Callable[..., Any], tmp_path: Path) -> None:
    page = PAGES["docs/index.md"]
    assert len(LINE.findall(page)) <= 10
    compare_with_page(page, play(page, cli, tmp_path))


@pytest.mark.heavy
def test_a_maintainer_of_ai_best_practices_goes_from_a_clone_to_a_push(
    cli: Callable[..., Any], git: Callable[..., str], tmp_path: Path
) -> None:
    suites = {"drupal-forms": "sample_repo/history/01-inherited-suite/legacy/drupal-forms"}
    suites["drupal-order"] = "tests/cases/migrations/ai_best_practices/order_of_keys/legacy"
    origin = tmp_path / "repo"
    git("init", "-q")
    for name, source in suites.items():
        shutil.copytree(ROOT / source, origin / "evals" / name)
    write_logs(origin)
    git("add", ".")
    git("commit", "-qm", "suites")
    page = PAGES["docs/drupal.md"].partition(DRUPAL_RUN)[0]
    compare_with_page(page, play(page, cli, tmp_path, git, origin), ("status --check",))
    assert "refs/tags/dataset/drupal_forms@1.0.0" in git("show-ref")  # the release was pushed


def write_logs(folder: Path) -> None:
    """Write a log of Inspect AI for each of two models, of which only the larger knows one thing."""
    (folder / "logs").mkdir()
    cases = json.loads((folder / "evals/drupal-forms/evals.json").read_text("utf-8"))["evals"]
    for model in ("small", "large"):
        with zipfile.ZipFile(folder / f"logs/{model}.eval", "w") as log:
            head = {"version": 2, "status": "success", "eval": {"model": f"mockllm/{model}", "task": "drupal-forms"}}
            log.writestr("header.json", json.dumps(head))
            for case in cases:
                knows = model == "large" or case["id"] != 3
                answer = (case.get("must_contain_any") or ["Yes."])[0] if knows else "I do not know."
                output = {"completion": answer, "choices": [{"message": {"role": "assistant", "content": answer}}]}
                row = {"id": f"B{case['id']:02}", "epoch": 1, "input": case["prompt"], "target": "", "output": output}
                log.writestr(f"samples/{row['id']}_epoch_1.json", json.dumps(row | {"scores": {}}))


def test_a_site_goes_from_its_export_to_an_audit(cli: Callable[..., Any], tmp_path: Path) -> None:
    rows = {"hours": "When does the library open on Sundays?", "renewal": "How do I renew a book?"}
    answers = {"old": "At ten o'clock, says the account page.", "new": "I think at noon."}
    check = {"id": "names_it", "kind": "must_contain_any", "values": ["ten o'clock", "account page"]}
    judge = {"template": "{{ input }}\n{{ output }}\nIs it warm? Say yes or no.", "score_type": "binary"}
    files: dict[str, Any] = {
        "eval/desk.json": {
            "label": "Library desk",
            "questions": [
                {"id": id_, "input": text, "criteria": "right", "rubric_ref": "rubric/desk_answers@1.0"}
                for id_, text in rows.items()
            ],
        },
        "eval/desk_answers.json": {
            "id": "desk_answers", "version": "1.0", "applicable_bundles": [],
            "checks": [check], "scoring": {"combine": "all_pass"},
        },
        "eval/warmth.json": {"id": "warmth", "version": "1.0", **judge},
    }  # fmt: skip
    for name, value in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(value), "utf-8")
    (tmp_path / "export").mkdir()
    for model, answer in answers.items():
        outputs = {"hours": answer, "renewal": answers["old"]}
        lines = (
            json.dumps(
                {"schema_version": "instance_level_eval_0.2.2", "evaluation_id": "desk", "model_id": model,
                 "evaluation_name": "desk", "sample_id": id_, "interaction_type": "single_turn",
                 "input": {"raw": text, "reference": [""]}, "output": {"raw": [outputs[id_]]},
                 "answer_attribution": [], "evaluation": {"score": 4.2, "is_correct": True}}
            )
            for id_, text in rows.items()
        )  # fmt: skip
        (tmp_path / f"export/{model}_samples.jsonl").write_text("\n".join(lines), "utf-8")
    page = PAGES["docs/drupal.md"].partition(DRUPAL_RUN)[2]
    compare_with_page(page, play(page, cli, tmp_path))


FERRY = {
    "before": ["The first ferry leaves at 6:10.", "At the pier, or from the machine on board.", "Yes, on a lead."],
    "after": ["The first one leaves early in the morning.", "At the pier.", "Yes."],
}
TIDES = {
    "before": {"high-water": "By the table of the port: 11:42 CET.", "no-table": "The port has no table."},
    "after": {"high-water": "By the table of the port: 11:42 CET.", "no-table": "At 9:15 CET."},
}


def write_ferry_results(folder: Path) -> None:
    for name, answers in FERRY.items():
        rows = [
            {"promptIdx": 0, "testIdx": number, "provider": {"id": f"openai:chat:{name}"}, "success": True,
             "prompt": {"raw": "Answer", "label": "Answer"}, "vars": {}, "response": {"output": answer}}
            for number, answer in enumerate(answers)
        ]  # fmt: skip
        results = {"evalId": name, "results": {"version": 3, "prompts": [{}], "results": rows}}
        (folder / f"{name}.json").write_text(json.dumps(results), "utf-8")


def write_tide_answers(folder: Path) -> None:
    for name, answers in TIDES.items():
        rows = [{"id": id_, "output": answer} for id_, answer in answers.items()]
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


TICKETS = {"Where is my parcel?": "delivery", "Give me my money back.": "refund", "Cancel it.": "cancel"}


def write_ticket_items(folder: Path) -> None:
    for model, wrong in (("small", "refund"), ("large", "")):
        items = []
        for number, (ticket, label) in enumerate(TICKETS.items()):
            answer = "delivery" if label == wrong else label
            results = [
                {"name": "Right label", "passed": answer == label},
                {"name": "Length", "passed": True, "score": 1},
            ]
            items.append(
                {"object": "eval.run.output_item", "eval_id": "eval_68ab12", "datasource_item_id": number,
                 "datasource_item": {"ticket": ticket, "label": label}, "results": results,
                 "sample": {"model": model, "input": [{"role": "user", "content": ticket}],
                            "output": [{"role": "assistant", "content": answer}]}}
            )  # fmt: skip
        (folder / f"saved/{model}.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items), "utf-8")


def judge_tides(prompt: str) -> str:
    """Answer yes unless the outcome names a time where there is no table."""
    invents = "At 9:15" in prompt
    return json.dumps({"rationale": "It is so.", "verdict": "no" if invents else "yes"})


@pytest.mark.parametrize(
    ("title", "write"),
    [
        ("A suite of promptfoo", write_ferry_results),
        ("A skill", write_tide_answers),
        ("An eval of OpenAI", write_ticket_items),
    ],
)
def test_a_suite_goes_from_its_file_to_its_first_audit(
    title: str,
    write: Callable[[Path], None],
    cli: Callable[..., Any],
    judge_server: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("EVALSTORE_JUDGE_URL", judge_server.url)
    monkeypatch.setenv("EVALSTORE_JUDGE_MODEL", "my-model")
    judge_server.text = judge_tides
    section = PAGES["docs/audits.md"].partition(f"\n## {title}")[2].partition("\n## ")[0]
    for name, text in re.findall(r"^`(\S+)`[^\n]*:\n\n```\w+\n(.*?)```", section, re.DOTALL | re.MULTILINE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    write(tmp_path)
    compare_with_page(section, play(section, cli, tmp_path))


def test_the_readme_counts_the_formats() -> None:
    count = {9: "Nine", 10: "Ten", 11: "Eleven"}[len(list_formats())]
    assert f"{count} legacy formats migrate" in README


@pytest.mark.heavy
def test_a_judge_is_tuned_as_the_page_says(
    demo: Any, cli: Callable[..., Any], judge_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = shutil.copytree(demo.folder, tmp_path / "store", symlinks=True)
    monkeypatch.setenv("EVALSTORE_JUDGE_URL", judge_server.url)
    monkeypatch.setenv("EVALSTORE_JUDGE_MODEL", "my-model")
    judge_server.text = answer_as_a_judge
    # The other model knows jQuery no better than some people do.
    judge_server.texts["new-model"] = lambda prompt: answer_as_a_judge(prompt.replace("jQuery", ""))
    page = PAGES["docs/tuning.md"]
    compare_with_page(page, play(page, cli, store))


def answer_as_a_judge(prompt: str) -> str:
    """Pass everything, and only under the new words of the page what people passed."""
    if "Choose one of" in prompt:
        return '{"rationale": "It is polite.", "level": "welcoming"}'
    bad = "does no harm" in prompt and re.search("display none|SQL|jQuery", prompt)
    return json.dumps({"rationale": "It says what to do.", "score": 0 if bad else 5})


DRUPAL_RUN = "## Score a Drupal run"
# By tests of their own.
PLAYED = {
    "README.md",
    *(f"docs/{name}.md" for name in ("tutorial", "index", "drupal", "tuning", "audits")),
}
# What needs a cluster, a process, a run of the reader's own, or the fingerprint of a change that nobody made.
ELSEWHERE = re.compile(r"--scheduler|--run RUN|accept 0f3a|--rows parquet")
ODD = [{"question": "Why is the page old?", "has": ["cache"]}, {"question": "Where is the key?", "has": ["settings"]}]


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted(name for name in PAGES if LINE.search(PAGES[name]) and name not in PLAYED))
def test_what_a_page_says_can_be_typed_in_the_store_of_the_demo(
    name: str, demo: Any, cli: Callable[..., Any], git: Callable[..., str], tmp_path: Path
) -> None:
    store = shutil.copytree(demo.folder, tmp_path / "store", symlinks=True)
    if "$ evalstore new" in PAGES[name]:
        store = tmp_path / "empty"
        store.mkdir()
        assert cli("init", cwd=store).code == 0
    furnish(store, PAGES[name], git)
    for line in LINE.findall(PAGES[name]):
        for part in line.split("&&"):
            words = shlex.split(part, comments=True)
            if words[0] == "cp":
                shutil.copy(store / words[1], store / words[2])
            if words[0] != "evalstore" or ELSEWHERE.search(part) or ("parquet" in words and not find_spec("pyarrow")):
                continue
            argv, target = (words[1:-2], words[-1]) if ">" in words else (words[1:], "")
            ran = cli(*argv, cwd=store)
            assert ran.code == 0, (part, ran.err)
            if target:
                (store / target).write_text(ran.out, "utf-8")


def furnish(store: Path, page: str, git: Callable[..., str]) -> None:
    """Lay out what the lines of a page take for given: a remote, a suite of no known format, other stores, a folder."""
    if "--push" in page:
        git("init", "-q", "--bare", str(store.parent / "origin"), cwd=store)
        git("remote", "add", "origin", str(store.parent / "origin"), cwd=store)
        git("push", "-q", "-u", "origin", "HEAD", cwd=store)
    if "odd/cases.json" in page:
        (store / "odd").mkdir()
        (store / "odd/cases.json").write_text(json.dumps({"cases": ODD}), "utf-8")
    if "../mine" in page:
        (store.parent / "mine").mkdir()
    if "team-a" in page:
        for name in ("team-a", "team-b"):
            shutil.copytree(store, store.parent / name, symlinks=True)
            (store.parent / name).rename(store / name)


def test_the_audit_of_the_pages_is_that_of_the_demo(demo: Any, cli: Callable[..., Any]) -> None:
    page = PAGES["docs/why.md"]
    line, shown = re.findall(r"```console\n\$ (.*?)\n```\n\n```\n(.*?)\n```", page, re.DOTALL)[0]
    ran = cli(*shlex.split(line)[1:], cwd=demo.folder)
    assert shown == ran.out.rstrip("\n")  # the commit, too, which is the same everywhere
