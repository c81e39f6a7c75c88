"""The legacy grader as it was measured (formats/drupal.md 1.3), our own words for it, for the tests alone.

It trusts its input as the original does: what is not a list is iterated all the same, and what Python cannot compare
raises. `vectors/legacy_grader_vectors.json` says that the model agrees with the original.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from functools import cache
from typing import Any

_PHP_BLOCK = re.compile(r"```php[^\n]*\n(.*?)```", re.DOTALL)
_HEADING = re.compile(r"^(#{1,6})\s+(.+)")


def grade_case(response: str, case: Mapping[str, Any]) -> dict[str, bool]:
    """Return what each check says, and `passed`; raises what the original raises."""
    wanted, banned = case.get("must_contain_any", []), case.get("must_not_contain", [])
    hits = [text for text in wanted if text.lower() in response.lower()]
    bad = [text for text in banned if text.lower() in response.lower()]
    rules = case.get("check_markdown_structure")
    said = {
        "must_contain_any": bool(hits) if wanted else True,
        "must_not_contain": not bad,
        "php_lint": lint(response) if case.get("check_php_lint", False) else True,
        "markdown_structure": structure(response, rules) if rules else True,
    }
    return {"passed": all(said.values())} | said


def run_case(response: str, case: Mapping[str, Any]) -> bool:
    """Return the verdict of the runner: it strips the response, and an empty one fails before any check."""
    stripped = response.strip()
    return bool(stripped) and grade_case(stripped, case)["passed"]


def lint(response: str) -> bool:
    """Whether `php -l` accepts every block."""
    return all(map(_parses, _PHP_BLOCK.findall(response)))


def structure(response: str, rules: Any) -> bool:
    """Whether every rule holds, counted line by line."""
    lines = response.splitlines()
    headings = [(len(found[1]), found[2].strip()) for line in lines if (found := _HEADING.match(line))]
    texts = [text.lower() for _, text in headings]
    prose = [line for line in lines if line.strip() and not line.startswith("#") and not line.startswith("```")]
    deepest = rules.get("max_heading_level", 6)
    too_deep = [level for level, _ in headings if level > deepest]
    top = [level for level, _ in headings if level == 1] if rules.get("no_h1", False) else []
    unmet = [part for part in rules.get("required_sections", []) if not any(part.lower() in text for text in texts)]
    found = [part for part in rules.get("forbidden_patterns", []) if part in response]
    counts = (
        ("min_headings", len(headings)),
        ("min_code_blocks", len(re.findall("```", response)) // 2),
        ("min_paragraphs", len(prose)),
    )
    few = [key for key, count in counts if rules.get(key, 0) and count < rules.get(key, 0)]
    return not (too_deep or top or unmet or found or few)


@cache
def _parses(block: str) -> bool:
    code = block if block.strip().startswith("<?php") else "<?php\n" + block
    try:
        return subprocess.run(["php", "-l"], input=code.encode(), capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return True
