"""Score ranges of a rubric item: what the numbers from 0 to 10 stand for, as the runner checks them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from evalstore.documents import Pointer, json_pointer
from evalstore.migration.readers.agentevals.said import CrashError

_TOP = 10
_BAND_TEXTS = ("outcome", "expected_outcome")


def render_bands(raw: Any, pointer: Pointer) -> str:
    """Return score ranges as lines of a prompt. Raises `CrashError` unless they cover 0 to 10 once each."""
    bands = sorted(_read_bands(raw, pointer))
    ends = [(low, high) for low, high, _ in bands]
    covers_all = bool(ends) and ends[0][0] == 0 and ends[-1][1] == _TOP
    if not covers_all or any(high + 1 != low for (_, high), (low, _) in pairwise(ends)) or any(a > b for a, b in ends):
        raise _make_crash(pointer, "do not cover 0 to 10 once each")
    return "\n".join(f"{low if low == high else f'{low} to {high}'}: {text}" for low, high, text in bands)


def _read_bands(raw: Any, pointer: Pointer) -> Iterator[tuple[int, int, str]]:
    if isinstance(raw, Mapping):
        lows = sorted((_read_whole_number(key, pointer), str(text)) for key, text in raw.items())
        for (low, text), high in zip(lows, [*(low - 1 for low, _ in lows[1:]), _TOP], strict=True):
            yield low, high, text
        return
    bands: list[Any] = raw if isinstance(raw, list) else [None]
    for band in bands:
        ends = band.get("score_range") if isinstance(band, dict) else None
        if not isinstance(ends, list) or len(ends) != 2:  # noqa: PLR2004  # from and to
            raise _make_crash(pointer, "are no list of {score_range: [from, to], outcome}")
        text = next((band[key] for key in _BAND_TEXTS if isinstance(band.get(key), str)), "")
        yield _read_whole_number(ends[0], pointer), _read_whole_number(ends[1], pointer), text


def _read_whole_number(raw: Any, pointer: Pointer) -> int:
    text = str(raw)
    if isinstance(raw, bool) or not text.isdecimal() or int(text[:3]) > _TOP or len(text) > len(str(_TOP)):
        raise _make_crash(pointer, f"name {text[:20]}, which is no whole number from 0 to 10")
    return int(text)


def _make_crash(pointer: Pointer, problem: str) -> CrashError:
    return CrashError(f"{json_pointer(pointer)}: the score ranges {problem}")
