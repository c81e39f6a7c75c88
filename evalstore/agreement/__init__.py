"""Measures how well a judge agrees with people, with itself and with its old wording."""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.agreement.comparison import JudgeReplacement
    from evalstore.agreement.confusion import Agreement, Confusion, LabelledCase
    from evalstore.agreement.examples import ExampleResults, ask_examples
    from evalstore.agreement.label_file import LabelFile, open_label_file, order_for_labels
    from evalstore.agreement.measurement import MeasurementRequest, open_measurement
    from evalstore.agreement.noise import (
        JudgeNoise,
        NoiseRequest,
        RepeatedJudgement,
        open_noise_measurement,
    )
    from evalstore.agreement.replacement import ReplacementRequest, open_replacement
    from evalstore.agreement.validation_block import (
        check_writable,
        draft_noise,
        draft_replacement,
        draft_validation,
    )
    from evalstore.agreement.wordings import WordingRequest, open_wording_trial

__all__ = [
    "Agreement",
    "Confusion",
    "ExampleResults",
    "JudgeNoise",
    "JudgeReplacement",
    "LabelFile",
    "LabelledCase",
    "MeasurementRequest",
    "NoiseRequest",
    "RepeatedJudgement",
    "ReplacementRequest",
    "WordingRequest",
    "ask_examples",
    "check_writable",
    "draft_noise",
    "draft_replacement",
    "draft_validation",
    "open_label_file",
    "open_measurement",
    "open_noise_measurement",
    "open_replacement",
    "open_wording_trial",
    "order_for_labels",
]

# Half a second of modules, of which a command needs one or two names.
__getattr__ = import_lazily(
    __name__,
    {
        ".comparison": ("JudgeReplacement",),
        ".confusion": ("Agreement", "Confusion", "LabelledCase"),
        ".examples": ("ExampleResults", "ask_examples"),
        ".label_file": ("LabelFile", "open_label_file", "order_for_labels"),
        ".measurement": ("MeasurementRequest", "open_measurement"),
        ".noise": ("JudgeNoise", "NoiseRequest", "RepeatedJudgement", "open_noise_measurement"),
        ".replacement": ("ReplacementRequest", "open_replacement"),
        ".validation_block": (
            "check_writable",
            "draft_noise",
            "draft_replacement",
            "draft_validation",
        ),
        ".wordings": ("WordingRequest", "open_wording_trial"),
    },
)
