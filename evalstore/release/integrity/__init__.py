"""Checks that nothing released was altered, and that each change has its version: for CI."""
