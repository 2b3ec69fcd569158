"""`python -m belated`: the shell, as the script `belated` starts it."""

from belated.cli import main

if __name__ == "__main__":
    main(prog_name="belated")
