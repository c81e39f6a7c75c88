"""What a regular expression means and how it is run: its syntax, its characters, its engine; knows no check."""
