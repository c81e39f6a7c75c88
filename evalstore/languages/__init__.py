"""The languages of rubrics, patterns and JSON Schema: what they mean, run in steps and compared."""
