"""`python -m reproduction`."""

from reproduction.commands import main

main(prog_name="python -m reproduction")
