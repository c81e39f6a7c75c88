"""php_lint: which blocks are PHP, and what an output without any is worth."""

from __future__ import annotations

from evalstore.diff.kinds import CheckKind, Param, read_no_question, read_one_of, say_always

# A block that is cut, and a word in capitals, are PHP to one dialect only; so is a word that begins
# with php.
_CODE = (
    "```php\n$x = 1;\n```",
    "```php\n$x = ;\n```",
    "```php\n$x = ;",
    "```PHP\n$x = ;\n```",
    "```php\n$x = 1;",
    "```phpt\n$x = ;\n```",
    "```phpt\n$x = 1;\n```",
)

KIND = CheckKind(
    params={
        "dialect": Param(
            "commonmark", read_one_of("commonmark", "legacy"), rule="check-engine-changed"
        ),
        "on_no_code": Param(
            "pass", read_one_of("pass", "fail", "unscored"), rule="php-lint-options-changed"
        ),
    },
    is_binary=say_always,
    may_miss=lambda params: params["on_no_code"] == "unscored",
    may_err=say_always,  # PHP may be missing
    question_parts=read_no_question,
    sample_texts=lambda _: iter(_CODE),
    is_portable=False,
    cost=100,
)
