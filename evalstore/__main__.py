"""`python -m evalstore`."""

from evalstore.cli.main import main

main()
