"""The sockets in the programs that they are for, in their newest release: a script each, run in their own environment.

`make sockets` installs what Python needs, in `.venv/sockets`; promptfoo is the command of that name, if there is one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv/sockets/bin/python"
SCRIPTS = sorted(Path(__file__).with_name("sockets").glob("*.py"))
FIND = "import sys; from importlib.util import find_spec; sys.exit(find_spec(sys.argv[1]) is None)"
# Nothing is sent or looked up, and nothing is shown on a page.
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "HF_HUB_OFFLINE": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
}

pytestmark = pytest.mark.process


@pytest.mark.slow  # each takes ten seconds to load: `make sockets` tries them
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_newest_release_takes_its_socket(script: Path, repo: Path, tmp_path: Path) -> None:
    library = script.stem.partition("_")[0]
    if not PYTHON.exists() or run([str(PYTHON), "-c", FIND, library], tmp_path).returncode:
        pytest.skip(f"{library} is not installed: make sockets")
    done = run([str(PYTHON), str(script), str(repo)], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


CONFIG = """\
prompts: ["{{text}}"]
providers: [echo]
tests:
  - vars: {text: please, id: good}
  - vars: {text: "moreover! thanks", id: bad}
defaultTest:
  assert: [{type: python, value: "file://tone.py", config: {rubric: rubric/tone@^1, store: STORE}}]
"""


def test_promptfoo_takes_its_socket(repo: Path, tmp_path: Path) -> None:
    program = shutil.which("promptfoo")
    if program is None:
        pytest.skip("promptfoo is not installed: npm install --global promptfoo")
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG.replace("STORE", json.dumps(str(repo))), "utf-8")
    (tmp_path / "tone.py").write_text("from evalstore.integrations.promptfoo import get_assert\n", "utf-8")
    done = run([program, "eval", "--no-cache", "--output", "found.json"], tmp_path)
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))["results"]["results"]
    graded = {one["vars"]["id"]: one for one in found}
    assert {name: one["success"] for name, one in graded.items()} == {"good": True, "bad": False}, done.stdout
    assert graded["bad"]["score"] == pytest.approx(1 / 3)
    grading = graded["bad"]["gradingResult"]
    assert grading["namedScores"] == {"polite": 1, "calm": 0, "short": 0}
    assert grading["componentResults"][0]["metadata"]["rubric"] == "rubric/tone@1.0.0"
    assert "calm failed (0): found '!'" in grading["reason"]


def run(argv: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder of its own, which it may fill, and which is not a store."""
    own = {"PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo"), "PROMPTFOO_PYTHON": sys.executable, "HOME": str(folder)}
    environment = {**os.environ, **QUIET, **own}
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, env=environment)
