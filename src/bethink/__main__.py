"""`python -m bethink`: the command line where the `bethink` script is not on the path."""

from bethink.cli import main

if __name__ == "__main__":
    main()
