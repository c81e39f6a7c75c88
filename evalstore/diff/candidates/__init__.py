"""Builds possible witnesses: texts, records of tool calls, and outputs made of both."""
