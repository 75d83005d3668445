"""`python -m relift`: the command line."""

from relift.cli import main

main()
