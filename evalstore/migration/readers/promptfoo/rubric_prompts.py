"""Makes a judge from a configuration's own grader prompt, which is a text or chat messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from evalstore.documents import Document, compute_digest, read_legacy_json
from evalstore.errors import LoadError
from evalstore.migration.extraction import ArtifactDraft
from evalstore.migration.outcome import JudgeFacts
from evalstore.migration.prompts.template_braces import escape_literal, find_template_variables
from evalstore.migration.readers.promptfoo.templates import PLACE, UnsayableError, fill_text
from evalstore.model import Kind

_FILE = "file://"
_TEXT_FILES = (".txt", ".md", ".json", ".yaml", ".yml")
_OUTPUT, _CRITERION = "output", "criterion"
_OWN_LANGUAGE = "its prompt is its own: a template of the program's language"
_TAG = re.compile(r"\{[{%#]")
_MESSAGES = re.compile(r"\s*(?:\[|\{(?![{%#])|- *role:)")


class ChatPrompt(NamedTuple):
    """A prompt as a chat: its system message (or empty), and the user's text.

    If it is only a system message, that is the text, in the role of the system.
    """

    system: str
    text: str
    role: str = "user"


class OwnPrompt(NamedTuple):
    """The judge of a prompt of the configuration, and the values of the variables that it reads."""

    judge: ArtifactDraft
    variables: Mapping[str, str]


def draft_own_prompt(
    prompt: ChatPrompt,
    ours: ArtifactDraft,
    row: Mapping[str, Any],
    answers: Mapping[str, Any],
    variables: Mapping[str, Any],
) -> OwnPrompt:
    """Return the judge that asks in a configuration's words.

    Raises `UnsayableError` if only the program can ask it. `ours` is the judge that it replaces,
    `answers` the keys that are read from its replies, `row` that of the assertion's type.
    """
    system, text, role = prompt
    if _TAG.search(system):
        raise UnsayableError("its prompt fills a system message, and has one of the user too")
    places, pieces = row["shows"], list(_split(text))
    ours_by_name = {name: places.get(name) or f"own_{name}" for _, name in pieces if name}
    if _OUTPUT not in ours_by_name.values():
        raise UnsayableError("its prompt does not show the output")
    template = ""
    for words, name in pieces:
        place = f"{{{{ {ours_by_name[name]} }}}}" if name else ""
        template += escape_literal(words) + place
    # A variable of a test must not hide one that every template has.
    own = ((theirs, name) for theirs, name in ours_by_name.items() if theirs not in places)
    filled = {name: fill_text(f"{{{{ {theirs} }}}}", variables) for theirs, name in own}
    braces = find_template_variables(template)
    read = [_CRITERION] if _CRITERION in ours_by_name.values() else []
    model = {"system": system} if system else {}
    model |= {"role": role} if role != "user" else {}
    value = {
        "title": ours.value["title"],
        "template": template,
        **({"variables": [*read, *filled, *braces]} if read or filled or braces else {}),
        **answers,
        **({"model": model} if model else {}),
    }
    id_ = f"judge_{compute_digest(value)[:32]}"
    draft = ArtifactDraft(Kind.JUDGE, id_, value, facts=JudgeFacts("", ""), name="own_prompt")
    return OwnPrompt(draft, {**filled, **braces})


def _split(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of text in a prompt, each with the name of the variable after it, if any."""
    position = 0
    for match in PLACE.finditer(text):
        yield _check_words(text[position : match.start()]), match[1]
        position = match.end()
        if "." in match[1]:
            raise UnsayableError(_OWN_LANGUAGE)
    yield _check_words(text[position:]), ""


def _check_words(words: str) -> str:
    if _TAG.search(words):
        raise UnsayableError(_OWN_LANGUAGE)
    return words


def read_chat_prompt(raw: Any, load: Callable[[str], Document | None]) -> ChatPrompt:
    """Return a prompt of a configuration.

    Raises `UnsayableError` for what is not text or such messages.
    """
    if isinstance(raw, str) and raw.startswith(_FILE):
        document = load(raw) if raw.endswith(_TEXT_FILES) and "{{" not in raw else None
        raw = document.value if document else None
    if isinstance(raw, str) and _MESSAGES.match(raw):
        try:
            raw = read_legacy_json(raw, "prompt").value
        except LoadError:
            raise UnsayableError(_OWN_LANGUAGE) from None
    if isinstance(raw, str) and raw:
        return ChatPrompt("", raw)
    messages = raw if isinstance(raw, list) else []
    said = [one for one in messages if isinstance(one, dict)]
    roles = [one.get("role") for one in said]
    texts = [text for one in said if isinstance(text := one.get("content"), str)]
    if len(texts) < len(messages) or roles not in (["user"], ["system"], ["system", "user"]):
        raise UnsayableError("its prompt is not one that can be read from here")
    return ChatPrompt("".join(texts[:-1]), texts[-1], str(roles[-1]))
