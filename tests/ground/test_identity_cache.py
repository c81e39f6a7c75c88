from __future__ import annotations

from evalstore.identity_cache import IdentityCache


def test_an_answer_is_computed_once_for_the_same_objects_and_again_for_equal_ones() -> None:
    asked: list[tuple[object, ...]] = []
    cache = IdentityCache[int](lambda *objects: asked.append(objects) or len(asked))
    one, equal = [1], [1]
    assert [cache.find(one, equal), cache.find(one, equal), cache.find(equal, one)] == [1, 1, 2]
    assert len(asked) == 2


def test_an_object_that_is_gone_lends_its_identity_to_no_other() -> None:
    cache = IdentityCache[int](lambda words: words[0])
    assert [cache.find([number]) for number in range(3000)] == list(range(3000))


def test_it_keeps_so_many_and_tells_of_each_that_it_forgets() -> None:
    forgotten: list[str] = []
    words = [chr(65 + number) * 2 for number in range(7)]
    cache = IdentityCache[str](str.lower, size=3, drop=forgotten.append)
    assert [cache.find(word) for word in words] == [word.lower() for word in words]
    assert forgotten == ["aa", "bb", "cc", "dd", "ee", "ff"]
    cache.clear()
    assert forgotten[6:] == ["gg"]
