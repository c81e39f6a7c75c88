"""php_lint: what an output without PHP is worth."""

from __future__ import annotations

from evalstore.diff.kinds import CheckKind, Param, read_no_question, read_one_of, say_always

_CODE = ("```php\n$x = 1;\n```", "```php\n$x = ;\n```")

KIND = CheckKind(
    params={
        "on_no_code": Param("pass", read_one_of("pass", "fail", "unscored"), rule="php-lint-options-changed"),
    },
    is_binary=say_always,
    may_miss=lambda params: params["on_no_code"] == "unscored",
    may_err=say_always,  # PHP may be missing
    question_parts=read_no_question,
    sample_texts=lambda _: iter(_CODE),
    is_portable=False,
    cost=100,
)
