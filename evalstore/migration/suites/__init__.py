"""What suites are called, where in the store they are, and the artifacts they become."""
