"""The facts: how two documents of one kind differ, as edits applied one after another to the old document."""
