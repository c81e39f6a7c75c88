"""Builds what is tried as a witness: texts, records of tool calls, and outputs of both."""
