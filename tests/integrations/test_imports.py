"""What evalstore needs of Inspect AI where nobody asks for it: nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evalstore.about import suggest_install

pytestmark = pytest.mark.process

LACKING = "import sys; sys.modules['inspect_ai'] = None; import evalstore.integrations.inspect"
QUIET = """\
import sys
import evalstore, evalstore.api, evalstore.cli.main, evalstore.integrations
print([name for name in sys.modules if name.partition('.')[0] in {'inspect_ai', 'anyio', 'pydantic'}])
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_missing_package_is_one_sentence() -> None:
    last = run(LACKING).stderr.splitlines()[-1]
    assert last == (
        f"ModuleNotFoundError: Inspect AI is not installed, and this is for use within it: {suggest_install('inspect')}"
    )


def test_nothing_else_imports_inspect() -> None:
    done = run(QUIET)
    assert done.stdout == "[]\n", done.stderr
