"""The names of suites, their places in the store, and the artifacts they become."""
