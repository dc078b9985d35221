"""`python -m mastio.cli.appliance.precompile`: compile the plugins' automata before the first start, as `compileall`
does code.

For an image in which the running process can write nothing. Elsewhere the first start does it.
"""

from __future__ import annotations

from mastio_detectors.analysis.engine import Engine as Detectors
from mastio_redaction.catalogue import CATALOGUE
from mastio_redaction.engine import Engine

if __name__ == "__main__":
    Engine(CATALOGUE)
    Detectors()
