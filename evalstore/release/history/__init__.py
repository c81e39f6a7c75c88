"""Which release and which edit a part comes from, and what a release affects."""
