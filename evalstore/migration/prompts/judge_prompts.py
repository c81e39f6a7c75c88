"""Turns a program's own prompt into a judge's template, and recognises a prompt by its parts."""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from evalstore.migration.extraction import ArtifactDraft, JudgePrompts, make_judge_draft
from evalstore.migration.outcome import JudgeFacts
from evalstore.migration.prompts.template_braces import escape_literal, find_template_variables
from evalstore.migration.shared_rubrics import restore_judge
from evalstore.migration.table import FormatTable, PromptRow

_UNKNOWN = "the prompt in {} belongs to no known release; its parts identify it"
_EDITED = "its words were changed here since they came from {}"
_GIVEN = "its judge is the one of {}"
_IDENTITY = frozenset({"id", "version", "x_source", "validation", "renamed_from"})
_ANGLES, _BRACES = re.compile(r"<<\w+>>"), re.compile(r"\{\{[^{}]*\}\}")


@dataclass(frozen=True, slots=True)
class InstalledPrompt:
    """The words of a program's prompt, and its system message, if any.

    `file` is the end of the path of their file. `role` is the role in which the text is sent.
    `first` is the prompt that is asked before.
    """

    text: str
    file: str
    system: str = ""
    role: str = "user"
    first: InstalledPrompt | None = None

    @property
    def words(self) -> str:
        """All of its words, beginning with those of the system message."""
        return "\n".join(filter(None, (self.system, self.text)))

    @property
    def sha256(self) -> str:
        """The SHA-256 of the words."""
        return hashlib.sha256(self.words.encode("utf-8", "surrogatepass")).hexdigest()


def select_prompt(found: Iterable[InstalledPrompt], row: PromptRow) -> InstalledPrompt | str:
    """Return the prompt among some texts, by its hash or its parts.

    If there is none, return a clause that says why.
    """
    texts = sorted(
        {prompt.words: prompt for prompt in found}.values(), key=lambda prompt: prompt.sha256
    )
    known = [prompt for prompt in texts if prompt.sha256 in row.sha256]
    alike = known or [prompt for prompt in texts if _has_parts(prompt, row)]
    names = " and ".join(row.places)
    if len(alike) > 1:
        return f"several texts of {' and '.join(row.files)} have a place for {names}"
    return (
        alike[0]
        if alike
        else f"no text of {' and '.join(row.files)} has a place for {names}, and for nothing else"
    )


def _describe_model(prompt: InstalledPrompt) -> dict[str, str]:
    """Return what the model of a judge says about its messages."""
    role = {} if prompt.role == "user" else {"role": prompt.role}
    return {**({"system": prompt.system} if prompt.system else {}), **role}


def draft_own_judge(prompt: InstalledPrompt, row: PromptRow, table: FormatTable) -> ArtifactDraft:
    """Return the judge that asks in a program's own words and reads the reply that they ask for."""
    ours = next(judge for judge in table.judges if judge["id"] == row.judge)
    template = render_template(prompt.text, row)
    before, first = prompt.first, dict[str, Any]()
    if before and row.first:
        first = {"template": render_template(before.text, row.first), **row.first.answers}
    both = f"{first.get('template', '')}{template}"
    names = [*ours.get("variables", ()), *find_template_variables(both)]
    model = _describe_model(prompt)
    origin = {"judge": row.judge, "file": prompt.file, "sha256": prompt.sha256}
    content = {
        key: item for key, item in ours.items() if key not in {"id", "template", "variables"}
    }
    value = {
        **content,
        "template": template,
        **({"first": first} if first else {}),
        **({"variables": names} if names else {}),
        **row.answers,
        **({"reply_pattern": row.reply_pattern} if row.reply_pattern else {}),
        **({"model": model} if model else {}),
        "x_source": {"prompt": {**origin, **({"first": before.sha256} if before else {})}},
    }
    is_known = prompt.sha256 in row.sha256 and (
        before is None or row.first is None or before.sha256 in row.first.sha256
    )
    remarks = [] if is_known else [_UNKNOWN.format(prompt.file)]
    return make_judge_draft(
        {"id": row.judge, **value}, JudgeFacts(row.loss, "", (*remarks, *row.remarks))
    )


def draft_given_judge(
    value: Mapping[str, Any], file: str, ours: Mapping[str, Any]
) -> ArtifactDraft:
    """Return the judge that a user supplies for a table's, from a file in the form of judges here.

    In a store it is what was supplied, even if it was edited since: it is the user's own.
    """
    content = {key: item for key, item in value.items() if key not in _IDENTITY}
    title = {} if "title" in content else {"title": ours["title"]}
    source = {"x_source": {"prompt": {"judge": ours["id"], "file": file}}}
    facts = JudgeFacts("", "", (_GIVEN.format(file),), is_given=True)
    return make_judge_draft({"id": ours["id"], **title, **content, **source}, facts)


def collect_stored_prompts(values: Iterable[Mapping[str, Any]], table: FormatTable) -> JudgePrompts:
    """Return the judges of a store that once took a program's words; they are kept as they are."""
    judges = {draft.id: draft for value in values for draft in _read_stored_judge(value, table)}
    return JudgePrompts(judges)


def find_prompt_origin(judge: Mapping[str, Any], table: FormatTable) -> Any:
    """Return where a judge of a format says that its words come from, or None."""
    source = judge.get("x_source")
    if isinstance(source, dict) and source.get("format") == table.format:
        return source.get("prompt")
    return None


def _read_stored_judge(value: Mapping[str, Any], table: FormatTable) -> Iterator[ArtifactDraft]:
    value = restore_judge(value)
    origin = find_prompt_origin(value, table)
    if not isinstance(origin, dict) or not isinstance(value.get("template"), str):
        return
    row = next((row for row in table.prompts if origin.get("judge") == row.judge), None)
    file = str(origin.get("file", ""))
    if row is None:
        given = [judge for judge in table.judges if judge["id"] == origin.get("judge")]
        yield from (draft_given_judge(value, file, judge) for judge in given)
        return
    prompt = _restore_prompt(value, row, file)
    if prompt and _is_from(prompt, origin):
        yield draft_own_judge(prompt, row, table)
        return
    content = {key: item for key, item in value.items() if key not in {"id", "version", "x_source"}}
    facts = JudgeFacts(_EDITED.format(file))
    yield make_judge_draft({"id": row.judge, **content, "x_source": {"prompt": origin}}, facts)


def _restore_prompt(value: Mapping[str, Any], row: PromptRow, file: str) -> InstalledPrompt | None:
    """Return the prompt that a judge in a store was made from; None if it lacks the first."""
    model, first = value.get("model"), value.get("first")
    said = model if isinstance(model, dict) else {}
    text, system = restore_text(value["template"], row), str(said.get("system") or "")
    before = None
    if row.first is not None:
        if not isinstance(first, dict) or not isinstance(first.get("template"), str):
            return None
        before = InstalledPrompt(restore_text(first["template"], row.first), file)
    return InstalledPrompt(text, file, system, str(said.get("role", "user")), before)


def _is_from(prompt: InstalledPrompt, origin: Mapping[str, Any]) -> bool:
    """Whether a prompt has the words that a judge says it took."""
    before = prompt.first.sha256 if prompt.first else None
    return (prompt.sha256, before) == (origin.get("sha256"), origin.get("first"))


def render_template(text: str, row: PromptRow) -> str:
    """Return the template of a prompt.

    Its places are filled as the row says, and everything else is plain words.
    """
    pieces = _SYNTAXES[row.syntax].split(text)
    return "".join(
        escape_literal(words) + (row.places[place] if place else "") for words, place in pieces
    )


def restore_text(template: str, row: PromptRow) -> str:
    """Return the prompt from which `render_template` made a template.

    If the template was edited, it is another text.
    """
    fills = {fill: place for place, fill in row.places.items()}
    pieces = re.split("(" + "|".join(re.escape(fill) for fill in fills) + ")", template)
    words = (piece.replace("{{ brace }}", "{").replace("{{ braces }}", "{{") for piece in pieces)
    quote = _SYNTAXES[row.syntax].quote
    return "".join(
        fills.get(piece) or quote(literal) for piece, literal in zip(pieces, words, strict=True)
    )


def _has_parts(prompt: InstalledPrompt, row: PromptRow) -> bool:
    """Whether a prompt has each place in a row, no other one, and the words for the reply."""
    syntax = _SYNTAXES[row.syntax]
    try:
        places = {place for _, place in syntax.split(prompt.text) if place}
    except ValueError:
        return False
    return places == set(row.places) and all(words in prompt.words for words in row.mentions)


def _split_at(place: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    position = 0
    for match in place.finditer(text):
        yield text[position : match.start()], match[0]
        position = match.end()
    yield text[position:], ""


def _split_format(text: str) -> Sequence[tuple[str, str]]:
    """Split a text for `str.format` into words and places.

    Raises `ValueError` for anything else, and for a text that formats a value.
    """
    pieces = list(string.Formatter().parse(text))
    if any(spec or conversion for _, _, spec, conversion in pieces):
        raise ValueError("a value is formatted")
    # Doubled braces end a piece, too: what is between two places is joined again.
    places = [f"{{{name}}}" for _, name, _, _ in pieces if name is not None]
    words = [""]
    for literal, name, _, _ in pieces:
        words[-1] += literal
        words += [""] if name is not None else []
    return list(zip(words, [*places, ""], strict=True))


class _Syntax(NamedTuple):
    """How a program writes places.

    `split` returns words and the place after each; `quote` writes words.
    """

    split: Callable[[str], Iterable[tuple[str, str]]]
    quote: Callable[[str], str]


_SYNTAXES: Mapping[str, _Syntax] = {
    "angles": _Syntax(partial(_split_at, _ANGLES), str),
    "braces": _Syntax(partial(_split_at, _BRACES), str),
    "format": _Syntax(_split_format, lambda words: words.replace("{", "{{").replace("}", "}}")),
}
