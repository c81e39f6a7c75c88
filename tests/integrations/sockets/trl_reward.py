"""TRL's GRPO trains a tiny model of random weights for a step by our rewards: `trl_reward.py STORE`."""

from __future__ import annotations

import sys
from typing import Any

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from evalstore.integrations.rewards import make_trl_reward

STORE = sys.argv[1]
WORDS = ["<pad>", "<eos>", "<unk>", "Say", "one", "please", "thanks", "moreover", "!"]

special = {f"{name}_token": f"<{name}>" for name in ("pad", "eos", "unk")}
words = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, special["unk_token"]))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, padding_side="left", **special)
tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
size: dict[str, Any] = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(WORDS), num_key_value_heads=2, **size))

tone, form, tools = (make_trl_reward(f"rubric/{name}@1.0.0", store=STORE) for name in ("tone", "form", "tools"))
seen: list[tuple[str, list[Any]]] = []


def watch(reward: Any) -> Any:
    """Return the same reward; notes what it is called with and what it says."""

    def watched(prompts: Any, completions: Any, **columns: Any) -> list[float | None]:
        rewards: list[float | None] = reward(prompts=prompts, completions=completions, **columns)
        seen.append((reward.__name__, list(zip(completions, columns["expected"], rewards, strict=True))))
        return rewards

    watched.__name__ = reward.__name__
    return watched


said = [{"role": "user", "content": "Say one"}]
rows = Dataset.from_list([{"prompt": said, "expected": {"format": "json"}}] * 4)
config = GRPOConfig(
    output_dir="out",
    use_cpu=True,
    max_steps=1,
    per_device_train_batch_size=4,
    num_generations=4,
    max_completion_length=6,
    logging_steps=1,
    report_to="none",
    save_strategy="no",
)
trainer = GRPOTrainer(
    model=model,
    reward_funcs=[watch(tone), watch(form), watch(tools)],
    args=config,
    train_dataset=rows,
    processing_class=tokenizer,
)
trainer.train()

graded = dict(seen)
assert {name: len(rows) for name, rows in graded.items()} == {"rubric_tone": 4, "rubric_form": 4, "rubric_tools": 4}
for completion, expected, reward in graded["rubric_tone"]:
    text = completion[0]["content"]
    held = [any(word in text for word in ("please", "thanks")), "!" not in text, "moreover" not in text]
    assert abs(reward - sum(held) / 3) < 1e-9, text
    assert expected == {"format": "json"}
assert {reward for *_, reward in graded["rubric_form"]} == {0.0}
assert {reward for *_, reward in graded["rubric_tools"]} == {None}, "what cannot be graded has no reward"
logged = next(row for row in trainer.state.log_history if "reward" in row)
mean = sum(reward for *_, reward in graded["rubric_tone"]) / 4
assert abs(logged["rewards/rubric_tone/mean"] - mean) < 1e-6, "TRL logs the mean of the rewards that it was given"
assert abs(logged["reward"] - mean) < 1e-6, "what cannot be graded adds nothing"
