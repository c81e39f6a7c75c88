"""The action, the component and the hooks that the repository offers, run: their scripts in bash, in a real store."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

from evalstore.store.pipeline_files import write_github, write_gitlab
from tests.rows import mark_slow

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
HEADER, _, COMPONENT = (ROOT / "templates/evalstore.yml").read_text("utf-8").partition("\n---\n")
SPEC = yaml.safe_load(HEADER)
RUBRIC = (
    "id: tone\nversion: 1.0.0\nchecks:\n  - {kind: must_not_contain, values: [simply]}\nscoring: {combine: all_pass}\n"
)
GH = r'''
"""The part of `gh api` that the action uses, over HTTP: methods, fields from files, and the one filter of --jq."""
import json, os, sys, urllib.request

words, method, body, filtered, path = iter(sys.argv[2:]), "GET", None, False, ""
for word in words:
    if word == "--method":
        method = next(words)
    elif word == "-F":
        name, _, file = next(words).partition("=@")
        body = json.dumps({name: open(file).read()}).encode()
    elif word == "--jq":
        filtered = next(words)
    elif not word.startswith("--"):
        path = word
request = urllib.request.Request(os.environ["GH_API"] + "/" + path, body, method=method)
request.add_header("Authorization", "Bearer " + os.environ["GH_TOKEN"])
try:
    answer = json.load(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request))
except urllib.error.HTTPError as error:
    sys.exit(f"gh: HTTP {error.code}")
if filtered:
    assert 'select(.user.type == "Bot" and (.body | startswith($ENV.MARK)))' in filtered
    for one in answer:
        if one["user"]["type"] == "Bot" and one["body"].startswith(os.environ["MARK"]):
            print(one["id"])
            break
'''


@dataclass
class Comments:
    """A server that keeps the comments of a pull request, of people and then of a bot; without `writable` it refuses to."""

    url: str = ""
    kept: dict[int, str] = field(default_factory=dict)
    writable: bool = True
    asked: list[str] = field(default_factory=list)

    @property
    def ours(self) -> list[str]:
        return [body for id_, body in self.kept.items() if id_ not in PEOPLES]


# Anybody can write our mark.
PEOPLES = {1: "Nice work", 2: "not ours <!-- evalstore evals -->", 3: "<!-- evalstore evals -->\nready to merge"}


@pytest.fixture
def comments() -> Iterator[Comments]:
    kept = Comments(kept=dict(PEOPLES))

    class Handler(BaseHTTPRequestHandler):
        def answer(self, code: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            kept.asked.append(f"GET {self.path}")
            types = {id_: {"type": "User" if id_ in PEOPLES else "Bot"} for id_ in kept.kept}
            self.answer(200, [{"id": id_, "body": body, "user": types[id_]} for id_, body in kept.kept.items()])

        def write(self) -> None:
            kept.asked.append(f"{self.command} {self.path}")
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
            if not kept.writable:
                self.answer(403, {})
                return
            id_ = int(self.path.rpartition("/")[2]) if self.command == "PATCH" else max(kept.kept) + 1
            kept.kept[id_] = body
            self.answer(200, {"id": id_})

        do_POST = do_PATCH = write  # noqa: N815  # names of the library

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    kept.url = f"http://127.0.0.1:{server.server_port}"
    yield kept
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, str]:
    """The environment of a runner: `gh` over HTTP, and a Python that only writes what it is asked to install.

    The virtual environments that it makes have the real evalstore.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "installed"
    scripts = {
        "evalstore": f'exec {sys.executable} -m evalstore "$@"',
        "gh": f'exec {sys.executable} "{folder}/gh.py" "$@"',
        "python": f'test "$1 $2 $3" = "-I -m pip" && shift 3 && printf "%s\\n" "$*" >> "{log}"',
        "python3": f'test "$1 $2 $3" = "-I -m venv" && mkdir -p "$4/bin" && cp "{folder}"/* "$4/bin"',
    }
    for name, line in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    (folder / "gh.py").write_text(GH)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.fixture
def store(git: Callable[..., str], cli: Callable[..., Any], tmp_path: Path) -> Path:
    """A store in a subfolder with one release."""
    git()
    root = tmp_path / "repo/evals"
    (root / "rubrics").mkdir(parents=True)
    (root / "evalstore.yaml").write_text("# a store\n")
    (root / "rubrics/tone.yaml").write_text(RUBRIC)
    assert cli("-C", root, "bump", "--all").code == 0
    git("update-ref", "refs/remotes/origin/trunk", "HEAD")
    return root


def bash(script: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)


@dataclass(frozen=True)
class Job:
    """What one run of the action answered: its output, what it printed, and the steps that ran."""

    ok: str
    code: int
    out: str
    steps: tuple[str, ...]
    summary: str
    temp: Path


def run_action(folder: Path, env: dict[str, str], tmp_path: Path, **inputs: str) -> Job:
    """Run the steps of the composite action as a runner does, with its expressions filled in."""
    known = {f"inputs.{name}": str(one["default"]) for name, one in ACTION["inputs"].items()}
    known |= {f"inputs.{name}": value for name, value in inputs.items()}
    return run_steps(ACTION["runs"]["steps"], folder, env, tmp_path, known)


def run_steps(
    steps: list[Any], folder: Path, env: dict[str, str], tmp_path: Path, known: dict[str, str] | None = None
) -> Job:
    """Run the steps of a pull request's job that are scripts."""
    temp = tmp_path / f"run{len(list(tmp_path.glob('run*')))}"
    temp.mkdir()
    known = {
        "github.token": "t0ken",
        "github.action_path": str(ROOT),
        "github.repository": "ada/evals",
        "github.event_name": "pull_request",
        "github.event.pull_request.number": "7",
        "github.base_ref": "trunk",
        "runner.temp": str(temp),
        "vars.EVALSTORE": "git+https://host/evalstore",
        **(known or {}),
    }
    files = {name: str(temp / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    env = {**env, **files, "RUNNER_TEMP": str(temp), "GITHUB_REPOSITORY": "ada/evals"}
    code, out, ran = 0, "", []
    for step in steps:
        condition = step.get("if", "")
        if (code and "!cancelled()" not in condition) or not holds(condition, known):
            continue
        if "uses" in step:
            if "sarif_file" in step["with"]:
                assert Path(fill(step["with"]["sarif_file"], known)).exists()
                ran.append(step["name"])
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"])  # a tag can be moved
            continue
        ran.append(step["name"])
        # What strangers write is handed over by the environment, never within a script.
        assert "${{" not in step["run"]
        (temp / "GITHUB_OUTPUT").write_text("")
        more = {name: fill(value, known) for name, value in step.get("env", {}).items()}
        done = bash(step["run"], folder, {**env, **more})
        out += done.stdout + done.stderr
        for line in (temp / "GITHUB_OUTPUT").read_text().splitlines():
            name, _, value = line.partition("=")
            known[f"steps.{step['id']}.outputs.{name}"] = value
        code = code or done.returncode
    summary = (temp / "GITHUB_STEP_SUMMARY").read_text() if (temp / "GITHUB_STEP_SUMMARY").exists() else ""
    return Job(fill(ACTION["outputs"]["ok"]["value"], known), code, out, tuple(ran), summary, temp)


def fill(text: str, known: dict[str, str]) -> str:
    def look_up(expression: re.Match[str]) -> str:
        return next((known[name] for name in expression[1].split(" || ") if known.get(name)), "")

    for _ in range(2):  # a default is an expression itself
        text = re.sub(r"\$\{\{ ([\w.]+(?: \|\| [\w.]+)*) \}\}", look_up, text)
    return text


def holds(condition: str, known: dict[str, str]) -> bool:
    parts = [part for part in condition.removeprefix("${{ ").removesuffix(" }}").split(" && ") if part]
    pairs = [re.fullmatch(r"([\w.]+) == '(\w+)'", part) for part in parts if part != "!cancelled()"]
    assert all(pairs), condition
    return all(known[pair[1]] == pair[2] for pair in pairs if pair)


def test_the_action_is_green_as_released_and_annotates_a_change_comments_once_and_fails(
    store: Path, tools: dict[str, str], comments: Comments, tmp_path: Path
) -> None:
    env = {**tools, "GH_API": comments.url}
    job = run_action(store.parent, env, tmp_path, store="evals")
    assert (job.ok, job.code) == ("true", 0), job.out
    assert job.steps == ("Install", "Gate", "Comment")
    assert (tmp_path / "installed").read_text().splitlines() == [
        f"install --quiet --require-hashes -r {ROOT}/.github/locks/install.txt",
        f"install --quiet --no-deps --no-build-isolation {ROOT}",
    ]
    (ours,) = comments.ours
    assert "phrase-reworded" not in ours
    (store / "rubrics/tone.yaml").write_text(RUBRIC.replace("simply", "just"))
    job = run_action(store.parent, env, tmp_path, store="evals")
    assert (job.ok, job.code) == ("false", 1)
    assert "::error file=evals/rubrics/tone.yaml,line=2" in job.out
    assert "phrase-reworded" in job.summary
    (edited,) = comments.ours
    assert "phrase-reworded" in edited
    assert comments.kept.items() >= PEOPLES.items()
    # Another store of the repository has a comment of its own.
    run_action(store.parent, env, tmp_path, store="other")
    assert [one.split("\n")[0] for one in comments.ours] == ["<!-- evalstore evals -->", "<!-- evalstore other -->"]
    assert [asked.split()[0] for asked in comments.asked] == ["GET", "POST", "GET", "PATCH", "GET", "POST"]


@pytest.mark.slow
def test_every_check_of_the_action_counts(
    store: Path, tools: dict[str, str], comments: Comments, tmp_path: Path
) -> None:
    env = {**tools, "GH_API": comments.url}
    rubric = store / "rubrics/tone.yaml"
    rubric.write_text(RUBRIC.replace("values: [simply]", "values: [simply], tilte: x"))
    lax = run_action(store.parent, env, tmp_path, store="evals")
    strict = run_action(store.parent, env, tmp_path, store="evals", strict="true", sarif="true")
    assert "title=warning%3A key-" in lax.out
    assert "title=error%3A key-" in strict.out
    assert "Code scanning" in strict.steps
    assert json.loads((strict.temp / "gate.sarif").read_text())["runs"][0]["results"]
    rubric.write_text(RUBRIC)
    subprocess.run(
        ["git", "tag", "-f", "rubric/tone@1.0.0", "HEAD:evals/rubrics/tone.yaml"],
        cwd=store,
        check=True,
        capture_output=True,
    )
    assert run_action(store.parent, env, tmp_path, store="evals").ok == "false"


@pytest.mark.parametrize("case", [mark_slow("no store"), "no command"])
def test_the_action_is_never_green_by_absence(
    store: Path, tools: dict[str, str], comments: Comments, tmp_path: Path, case: str
) -> None:
    env = {**tools, "GH_API": comments.url}
    if case == "no command":
        (tmp_path / "bin/evalstore").write_text("#!/bin/sh\nexit 127\n")
    job = run_action(store.parent, env, tmp_path, store="nowhere" if case == "no store" else "evals")
    assert (job.ok, job.code != 0) == ("false", True), job.out
    assert "evalstore gate could not answer (exit code" in comments.ours[0]


def test_a_fork_gets_no_comment_and_is_told_so(
    store: Path, tools: dict[str, str], comments: Comments, tmp_path: Path
) -> None:
    comments.writable = False
    (tmp_path / "bin/evalstore").write_text("#!/bin/sh\n")  # whose answers are other tests'
    job = run_action(store.parent, {**tools, "GH_API": comments.url}, tmp_path, store="evals")
    assert (job.ok, job.code) == ("true", 0)
    assert "::notice title=evalstore::the comment could not be written" in job.out


@pytest.mark.parametrize("changed", [True, mark_slow(False)])
def test_the_workflow_of_github_gates_and_comments(
    store: Path,
    tools: dict[str, str],
    comments: Comments,
    tmp_path: Path,
    changed: bool,  # noqa: FBT001
) -> None:
    if changed:
        (store / "rubrics/tone.yaml").write_text(RUBRIC.replace("simply", "just"))
    workflow = yaml.safe_load(write_github("evals/", "main"))
    assert (workflow[True], workflow["permissions"]) == ({"pull_request": None, "push": {"branches": ["main"]}}, {})
    job = workflow["jobs"]["gate"]
    env = {**tools, **job["env"], "GH_API": comments.url}
    ran = run_steps(job["steps"], store.parent, env, tmp_path)
    assert (ran.code, "phrase-reworded" in comments.ours[0]) == (int(changed), changed), ran.out
    comments.writable = False
    assert "::notice title=evalstore::" in run_steps(job["steps"], store.parent, env, tmp_path).out


def test_a_push_gets_no_comment() -> None:
    (comment,) = (step for step in ACTION["runs"]["steps"] if step["name"] == "Comment")
    given = {f"inputs.{name}": str(one["default"]) for name, one in ACTION["inputs"].items()}
    assert [holds(comment["if"], given | {"github.event_name": event}) for event in ("pull_request", "push")] == [
        True,
        False,
    ]


@pytest.mark.parametrize("changed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_component_of_gitlab_is_the_gate(store: Path, tools: dict[str, str], changed: bool, tmp_path: Path) -> None:  # noqa: FBT001
    if changed:
        (store / "rubrics/tone.yaml").write_text(RUBRIC.replace("simply", "just"))
    inputs = {name: one.get("default") for name, one in SPEC["spec"]["inputs"].items()}
    inputs |= {"store": "evals", "strict": True, "install": "git+https://host/evalstore"}
    text = COMPONENT
    for name, value in inputs.items():
        text = text.replace(f"$[[ inputs.{name} ]]", str(value).lower() if isinstance(value, bool) else value)
    assert "$[[" not in text
    jobs = yaml.safe_load(text)
    job = jobs[".evalstore"] | jobs["evalstore"]
    subprocess.run(["git", "clone", "-q", "--bare", str(store.parent), str(tmp_path / "origin.git")], check=True)
    subprocess.run(["git", "remote", "add", "origin", str(tmp_path / "origin.git")], cwd=store, check=True)
    env = {**tools, **job["variables"], **BRANCH}
    ran = bash("\n".join([*job["before_script"], *job["script"]]), store.parent, env)
    assert ran.returncode == int(changed), ran.stdout + ran.stderr
    reports = {name: (store.parent / file).read_text() for name, file in job["artifacts"]["reports"].items()}
    assert bool(json.loads(reports["codequality"])) is changed
    assert reports["junit"].startswith("<?xml")
    assert (tmp_path / "installed").read_text() == "install --quiet git+https://host/evalstore\n"


# What GitLab says of a pipeline: of a branch, as of every job without rules, of a merge request, or after a merge.
BRANCH = {"CI_DEFAULT_BRANCH": "trunk", "CI_COMMIT_BRANCH": "mine"}
MERGE_REQUEST = {"CI_DEFAULT_BRANCH": "main", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "trunk"}
MERGED = {"CI_DEFAULT_BRANCH": "trunk", "CI_COMMIT_BRANCH": "trunk", "CI_COMMIT_BEFORE_SHA": "{base}"}


PUSH = {"DEFAULT": "trunk", "REF": "refs/heads/trunk", "BEFORE": "{base}"}


def list_gates() -> dict[str, str]:
    """Return the lines of each pipeline that are its gate, as bash runs them."""
    github, gitlab = yaml.safe_load(write_github("", "trunk")), yaml.safe_load(write_gitlab(""))
    component = yaml.safe_load(COMPONENT)
    return {
        "action": next(step["run"] for step in ACTION["runs"]["steps"] if step["name"] == "Gate"),
        "github": next(step["run"] for step in github["jobs"]["gate"]["steps"] if step.get("name") == "Gate"),
        "component": "\n".join(component["evalstore"]["script"]),
        "gitlab": "\n".join(gitlab["evalstore"]["script"]),
    }


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("action", {"BASE_REF": "trunk"}),
        ("gitlab", BRANCH),
        *map(mark_slow, (("component", BRANCH), ("component", MERGE_REQUEST), ("gitlab", MERGE_REQUEST))),
        *map(mark_slow, (("component", MERGED), ("gitlab", MERGED), ("action", PUSH))),
        *map(mark_slow, (("github", {"BASE_REF": "trunk"}), ("github", PUSH))),
    ],
)
def test_no_change_brings_the_settings_that_judge_it(
    store: Path,
    tools: dict[str, str],
    cli: Callable[..., Any],
    tmp_path: Path,
    name: str,
    variables: dict[str, str],
) -> None:
    """A branch that releases a major change as a patch, by a rule of its own, passes by its own settings alone."""
    git = partial(subprocess.run, cwd=store, check=True, capture_output=True, text=True)
    base = git(["git", "rev-parse", "HEAD"]).stdout.strip()
    (store / "evalstore.yaml").write_text("rules: {phrase-reworded: patch}\n")
    (store / "rubrics/tone.yaml").write_text(RUBRIC.replace("simply", "just"))
    git(["git", "commit", "-qam", "A rule of its own"])
    assert cli("-C", store, "bump", "--all").code == 0
    assert cli("-C", store, "gate", "--base", "HEAD").code == 0
    files = {key: str(tmp_path / key) for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    env = {**tools, **files, "STORE": ".", "EVALSTORE_STORE": ".", "RUNNER_TEMP": str(tmp_path)}
    (tmp_path / "evalstore").mkdir()
    (tmp_path / "evalstore/bin").symlink_to(tmp_path / "bin")
    known = {key: value.format(base=base) for key, value in variables.items()}
    script = list_gates()[name]
    ran = bash(script, store, {**env, **NO_EVENT, "evalstore": str(tmp_path / "evalstore"), **known})
    found = ran.stdout + "".join(path.read_text() for path in store.glob("evalstore.xml"))
    assert (ran.returncode, "1.0.1 is too low" in found) == (1, True), ran.stdout + ran.stderr


NO_EVENT = dict.fromkeys(("BASE", "BASE_REF", "BEFORE", "DEFAULT", "REF", "STRICT", "EVALSTORE_STRICT"), "")
BEFORE, FIRST = "b" * 40, "0" * 40
ON_TRUNK = {"DEFAULT": "trunk", "REF": "refs/heads/trunk"}
IN_TRUNK = {"CI_DEFAULT_BRANCH": "trunk", "CI_COMMIT_BRANCH": "trunk"}
BASES = (
    (("action", "github"), {"BASE_REF": "1.x", "DEFAULT": "trunk", "BEFORE": BEFORE}, "refs/remotes/origin/1.x"),
    (("action", "github"), {**ON_TRUNK, "BEFORE": BEFORE}, BEFORE),
    (("action", "github"), {**ON_TRUNK, "BEFORE": FIRST}, "refs/remotes/origin/trunk"),
    (("action", "github"), ON_TRUNK, "refs/remotes/origin/trunk"),  # somebody started it
    # What a push to another branch replaced is its author's, too.
    (("action", "github"), {**ON_TRUNK, "REF": "refs/heads/mine", "BEFORE": BEFORE}, "refs/remotes/origin/trunk"),
    (("action",), {"BASE": BEFORE, "DEFAULT": "trunk"}, BEFORE),  # of a group of the merge queue
    (("gitlab", "component"), {**BRANCH, "CI_COMMIT_BEFORE_SHA": BEFORE}, "refs/remotes/origin/trunk"),
    (("gitlab", "component"), {**MERGE_REQUEST, "CI_COMMIT_BEFORE_SHA": FIRST}, "refs/remotes/origin/trunk"),
    (("gitlab", "component"), {**IN_TRUNK, "CI_COMMIT_BEFORE_SHA": BEFORE}, BEFORE),
    (("gitlab", "component"), {**IN_TRUNK, "CI_COMMIT_BEFORE_SHA": FIRST}, "refs/remotes/origin/trunk"),
    (("gitlab", "component"), {"CI_DEFAULT_BRANCH": "trunk", "CI_COMMIT_TAG": "1"}, "refs/remotes/origin/trunk"),
)


def test_the_base_is_no_commit_of_the_change(tmp_path: Path) -> None:
    """It is the branch that the change is for, by its full name, or what a push to the default branch replaced.

    A commit that git does not have stays the base, for which the gate has an error: so does one that a forced push removed.
    """
    folder = tmp_path / "evalstore/bin"
    folder.mkdir(parents=True)
    (folder / "evalstore").write_text("#!/bin/sh\nprintf '%s ' \"$@\"\n")
    (folder / "evalstore").chmod(0o755)
    files = {key: str(tmp_path / key) for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    env = {**os.environ, **files, **NO_EVENT, "RUNNER_TEMP": str(tmp_path), "evalstore": str(tmp_path / "evalstore")}
    env |= {"STORE": ".", "EVALSTORE_STORE": "."}
    gates = list_gates()
    for names, variables, base in BASES:
        for name in names:
            ran = bash(gates[name], tmp_path, {**env, **variables})
            assert f" gate --base {base} " in ran.stdout, (name, variables, ran.stdout)


TRAP = "import pathlib; pathlib.Path(__file__ + '.ran').touch()\n"


@pytest.mark.slow  # ensurepip; that every installation is isolated is the next test
def test_no_file_of_the_change_is_imported_by_the_installation(tmp_path: Path) -> None:
    """The real Python makes the environment and installs a package, in a checkout whose files have its modules' names."""
    checkout, temp = tmp_path / "checkout", tmp_path / "temp"
    for folder in (checkout / "evalstore", temp):
        folder.mkdir(parents=True)
    for name in ("venv", "ensurepip", "pip", "sitecustomize", "usercustomize", "json", "logging", "evalstore/__init__"):
        (checkout / f"{name}.py").write_text(TRAP)
    package = temp / "evalstore-1-py3-none-any.whl"
    with ZipFile(package, "w") as wheel:
        wheel.writestr("evalstore.py", "def run():\n    print('ours')\n")
        wheel.writestr("evalstore-1.dist-info/entry_points.txt", "[console_scripts]\nevalstore = evalstore:run\n")
        wheel.writestr("evalstore-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: evalstore\nVersion: 1\n")
        wheel.writestr("evalstore-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("evalstore-1.dist-info/RECORD", "")
    (install,) = (step["run"] for step in ACTION["runs"]["steps"] if step["name"] == "Install")
    env = {**os.environ, "RUNNER_TEMP": str(temp), "ACTION_PATH": str(package), "PIP_NO_INDEX": "1"}
    ran = bash(f'{install}\n"$RUNNER_TEMP/evalstore/bin/evalstore"', checkout, env)
    assert (ran.returncode, ran.stdout) == (0, "ours\n"), ran.stderr
    assert not list(checkout.rglob("*.ran"))


def test_every_pipeline_installs_as_the_action_does() -> None:
    texts = [*map(str, list_gates().values()), (ROOT / "action.yml").read_text("utf-8"), COMPONENT]
    texts += [write_github("", "main").decode(), write_gitlab("").decode()]
    for text in texts:
        called = re.findall(r"\bpython3?\"? (\S+ \S+ \S+)", text)
        assert set(called) <= {"-I -m venv", "-I -m pip"}, text
        assert not re.search(r"evalstore\S* -C \S+ (?!gate\b|bump\b)", text)


def test_the_release_job_releases_what_was_merged(
    store: Path, tools: dict[str, str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    """After a squash the version is in the file, and no tag is at the remote."""
    git = partial(subprocess.run, check=True, capture_output=True, text=True)
    git(["git", "clone", "-q", "--bare", str(store.parent), str(tmp_path / "origin.git")])
    git(["git", "clone", "-q", str(tmp_path / "origin.git"), str(tmp_path / "clone")])
    rubric = tmp_path / "clone/evals/rubrics/tone.yaml"
    rubric.write_text(RUBRIC.replace("simply", "just").replace("1.0.0", "2.0.0"))
    git(["git", "-C", str(rubric.parent), "commit", "-qam", "Squashed"])
    steps = yaml.safe_load(write_github("evals/", "main"))["jobs"]["release"]["steps"]
    job = run_steps(steps, tmp_path / "clone", {**tools, "STORE": "evals"}, tmp_path)
    assert job.code == 0, job.out
    assert git(["git", "-C", str(tmp_path / "origin.git"), "tag"]).stdout.split() == [
        "rubric/tone@1.0.0",
        "rubric/tone@2.0.0",
    ]


def test_the_hook_of_pre_commit_does_what_it_says(store: Path, tools: dict[str, str]) -> None:
    """The entry runs as pre-commit runs it: without file names, in the repository's root; here that is the store."""
    (hook,) = HOOKS
    assert hook["pass_filenames"] is False
    for path in ("rubrics/tone.yaml", "evals/datasets/web.jsonl", "evalstore.yaml", "a/.evalstore/accepted.yaml"):
        assert re.search(hook["files"], path)
    assert not re.search(hook["files"], "src/main.py")
    line = hook["entry"]
    assert bash(line, store, tools).returncode == 0
    for broken in (("values: [simply]", "values: simply"), ("simply", "just")):
        (store / "rubrics/tone.yaml").write_text(RUBRIC.replace(*broken))
        assert bash(line, store, tools).returncode == 1
    # What was committed since the remote had it is judged by the remote's settings.
    (store / "rubrics/tone.yaml").write_text(RUBRIC)
    (store / "evalstore.yaml").write_text("unpinned: allow\n")
    subprocess.run(["git", "commit", "-qam", "Loosened"], cwd=store, check=True)
    assert bash(f"{line} --strict", store, tools).returncode == 0
    assert bash(f"{line} --strict", store, {**tools, "PRE_COMMIT_FROM_REF": "origin/trunk"}).returncode == 1


@pytest.mark.parametrize("text", [COMPONENT, write_gitlab("").decode()])
def test_the_release_job_of_gitlab_leaves_no_token_behind(text: str, git: Callable[..., str], tmp_path: Path) -> None:
    git("init", "-q", str(tmp_path / "clone"))
    git("remote", "add", "origin", "https://host/a.git", cwd=tmp_path / "clone")
    *script, _ = next(yaml.safe_load_all(text.partition("---\n")[2] or text))["evalstore-release"]["script"]
    script = [line for line in script if not line.startswith("git switch")]
    env = {**os.environ, "EVALSTORE_TOKEN": "glpat-s3cret", "CI_SERVER_HOST": "host", "CI_PROJECT_PATH": "a"}
    env |= {"TMPDIR": str(tmp_path)}
    env.pop("GIT_CONFIG_GLOBAL", None)
    bash("\n".join([*script, "git config --global credential.helper > said"]), tmp_path / "clone", env)
    assert (tmp_path / "clone/said").read_text() == "store\n"
    left = [path for path in tmp_path.rglob("*") if path.is_file() and "s3cret" in path.read_text("utf-8", "replace")]
    assert left == []
