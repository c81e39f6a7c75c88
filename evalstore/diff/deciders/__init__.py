"""What can be proved about a change without any output: mostly, that it changes no score."""
