"""Reads a judge of ai_eval, whose schema is nearly the one here, so it is taken as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstore.checks.template import find_tags
from evalstore.lint.notes import list_names
from evalstore.migration.artifact_names import make_slug
from evalstore.migration.case_reading import refuse_source
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase
from evalstore.migration.outcome import classify_losses
from evalstore.migration.readers.ai_eval.shapes import find_shape_error, read_names, read_version
from evalstore.migration.table import FormatTable
from evalstore.model import Kind
from evalstore.model.judge import BUILTIN_VARIABLES
from evalstore.text import make_excerpt

_JUDGE = "judge"
_NO_ID = "the judge has no id"
_NO_VERSION = "version is not text of two or three numbers: what refers to the judge cannot find it"
_NO_TEMPLATE = "template is not a text: there is nothing to ask"
_UNFILLED = "its template reads {}, which the program fills; here a check must, under `variables`"
_PROVIDER = "model.provider is kept: here an endpoint is named where it is asked"


def read_judge(root: Mapping[str, Any], table: FormatTable) -> Extraction:
    """Return the judge under its own id and version."""
    if not isinstance(root.get("id"), str) or not make_slug(root["id"]):
        return refuse_source(_JUDGE, ("id",), _NO_ID)
    version = read_version(root)
    if version is None:
        return refuse_source(_JUDGE, ("version",), _NO_VERSION)
    if not isinstance(root["template"], str) or not root["template"]:
        return refuse_source(_JUDGE, ("template",), _NO_TEMPLATE)
    value = read_names(root) | {key: root[key] for key in table.form["judge"] if key in root}
    names = list(dict.fromkeys(tag.name for tag in find_tags(root["template"]) if not tag.problem))
    unfilled = [name for name in names if name not in BUILTIN_VARIABLES]
    if unfilled:
        value["variables"] = unfilled
    if error := find_shape_error(Kind.JUDGE, value):
        (key, *_), message = error
        return refuse_source(_JUDGE, (key,) if key in root else (), message)
    losses = (_UNFILLED.format(list_names(map(make_excerpt, unfilled))),) if unfilled else ()
    model = value.get("model")
    remarks = (_PROVIDER,) if isinstance(model, dict) and "provider" in model else ()
    draft = ArtifactDraft(Kind.JUDGE, _JUDGE, value, version=version, name=root["id"])
    case = LegacyCase((), root, classify_losses(losses), losses, rubric=draft, remarks=remarks)
    return Extraction(_JUDGE, cases=(case,))
