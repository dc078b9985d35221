"""Lets `python -m mastio_client` work where the script is not on the path."""

import sys

from mastio_client.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
