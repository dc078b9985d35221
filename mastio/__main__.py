"""`python -m mastio` is the command `mastio`."""

import sys

from mastio.cli import main

sys.exit(main())
