"""The version of evalstore: the one place that has it; the build reads it here."""

VERSION = "0.1.0"
