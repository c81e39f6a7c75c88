"""evalstore is ready to be published: one place says where, and what an index, a citation and an editor read is valid."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest
import yaml

from evalstore import about
from tests.project.publication import ROOT, render_files

REPOSITORY, PAGES = "https://git.example.org/ada/evalstore", "https://ada.example.org/evalstore"
WORKFLOW = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
JOBS: dict[str, Any] = yaml.safe_load(WORKFLOW)["jobs"]
CATALOG = json.loads((ROOT / "schema/schemastore.json").read_text("utf-8"))


def test_every_generated_file_is_fresh() -> None:
    stale = [name for name, text in render_files().items() if (ROOT / name).read_text("utf-8") != text]
    assert stale == [], "run `python -m tests.project.generate`"


def test_one_place_gives_every_file_its_address() -> None:
    files = render_files(REPOSITORY, PAGES)
    assert tomllib.loads(files["pyproject.toml"])["project"]["urls"] == {
        "Documentation": PAGES,
        "Issues": f"{REPOSITORY}/issues",
        "Repository": REPOSITORY,
    }
    citation = yaml.safe_load(files["CITATION.cff"])
    assert (citation["repository-code"], citation["url"]) == (REPOSITORY, PAGES)
    site = yaml.load(files["mkdocs.yml"], Loader=yaml.BaseLoader)  # noqa: S506  # only texts
    assert (site["repo_url"], site["site_url"]) == (REPOSITORY, PAGES)
    catalog = json.loads(files["schema/schemastore.json"])
    assert all(entry["url"].startswith(f"{PAGES}/schema/") for entry in catalog["schemas"])
    assert "![The score fell" in files["README.md"]
    assert f"]({REPOSITORY}/raw/main/docs/why.svg)" in files["README.md"]
    assert f"]({REPOSITORY}/blob/main/docs/tutorial.md)" in files["README.md"]
    for name in ("docs/ci.md", "templates/evalstore.yml"):
        assert f"git+{REPOSITORY}" in files[name]
    assert about.UNDECIDED not in "".join(files.values())


def test_an_address_can_be_taken_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    undecided = render_files("", "")
    for name, text in render_files(REPOSITORY, PAGES).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.setattr("tests.project.publication.ROOT", tmp_path)
    assert render_files("", "") == undecided


def test_without_an_address_none_is_invented() -> None:
    files = render_files("", "")
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert "urls" not in project
    assert not {"repository-code", "url"} & set(yaml.safe_load(files["CITATION.cff"]))
    assert not re.search("site_url|repo_url", files["mkdocs.yml"])
    assert "](docs/why.svg)" in files["README.md"]


# The rules by which SchemaStore checks its catalog, beside its schema.
def test_schemastore_would_take_the_entries() -> None:
    assert list(CATALOG) == ["$schema", "version", "schemas"]
    names = [entry["name"] for entry in CATALOG["schemas"]]
    assert names == sorted(set(names))
    for entry in CATALOG["schemas"]:
        assert list(entry) == ["name", "description", "fileMatch", "url"]
        assert entry["url"].startswith("https://")
        assert (ROOT / "schema" / entry["url"].rpartition("/")[2]).is_file()
        for text in (entry["name"], entry["description"]):
            assert not re.search(r"schema|\n|[,. \t-]$", text, re.IGNORECASE)
        for pattern in entry["fileMatch"]:
            assert pattern.startswith("**/") or "/" not in pattern


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == about.VERSION
    assert citation["license"] == "MIT"


def test_only_the_tag_of_a_version_publishes() -> None:
    triggers = yaml.load(WORKFLOW, Loader=yaml.BaseLoader)["on"]  # noqa: S506  # YAML 1.1 takes `on` for true
    assert triggers == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}
    (step,) = [step["run"] for step in JOBS["build"]["steps"] if step.get("name") == "The tag names the version"]
    for tag, code in ((f"v{about.VERSION}", 0), ("v9.9.9", 1)):
        env = {"GITHUB_REF_NAME": tag, "PATH": f"{sys.prefix}/bin:/usr/bin:/bin"}
        assert (
            subprocess.run(["bash", "-ec", step], cwd=ROOT, env=env, check=False, capture_output=True).returncode
            == code
        )


def test_only_the_job_that_publishes_has_rights_and_it_builds_nothing() -> None:
    assert yaml.safe_load(WORKFLOW)["permissions"] == {}
    assert JOBS["build"]["permissions"] == {"contents": "read"}
    publish = JOBS["publish"]
    assert publish["permissions"] == {"id-token": "write", "attestations": "write"}
    assert (publish["needs"], publish["environment"]["name"]) == (["test", "build", "try"], "pypi")
    for name in ("test", "try"):
        assert JOBS[name]["permissions"] == {"contents": "read"}
        assert not any("upload" in step.get("uses", "") for step in JOBS[name]["steps"])
    assert "make" not in "".join(step.get("run", "") for step in JOBS["build"]["steps"])
    assert not any("run" in step for step in publish["steps"])
    assert "secrets." not in WORKFLOW


def test_what_is_installed_before_a_release_and_by_the_action_is_locked_by_hash() -> None:
    lock = (ROOT / ".github/locks/install.txt").read_text("utf-8")
    entries = re.findall(
        r"^([a-z0-9-]+)==([^ ]+)(?: ; [^\\\n]+)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", lock, re.MULTILINE
    )
    assert len(entries) == len(re.findall("^[a-z]", lock, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"], "build"]
    names = {re.split("[<>=]", one)[0].lower().replace(".", "-") for one in wanted}
    assert names <= {name for name, _ in entries}
    action = (ROOT / "action.yml").read_text("utf-8")
    installs = [
        line for line in re.findall(r"(?:pip install|install\[@\]\}).*", action + WORKFLOW) if "--quiet)" not in line
    ]
    assert installs
    assert all("--require-hashes" in line or "--no-deps" in line for line in installs)
    assert "pipx" not in WORKFLOW


def test_every_action_is_pinned_by_its_commit() -> None:
    workflows = [path.read_text("utf-8") for path in sorted((ROOT / ".github/workflows").glob("*.yml"))]
    used = [line for text in workflows for line in re.findall(r"uses: (.*)", text)]
    assert len(workflows) > 1
    assert all("permissions: {}" in text for text in workflows)
    for line in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


@pytest.mark.process
@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ("vendor.github-workflows", ".github/workflows/docs.yml"),
        ("vendor.github-workflows", ".github/workflows/release.yml"),
        ("vendor.github-workflows", ".github/workflows/versions.yml"),
        ("vendor.citation-file-format", "CITATION.cff"),
    ],
)
def test_it_is_valid_by_the_schema_of_its_format(schema: str, name: str) -> None:
    pytest.importorskip("check_jsonschema")
    argv = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, "--default-filetype", "yaml", name]
    ran = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
