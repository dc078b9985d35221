"""Compiles the plugins' automata before the first start, as `compileall` does code: `python -m` with this name.

For an image in which the running process can write nothing. Elsewhere the first start does it.
"""

from __future__ import annotations

import os
from pathlib import Path

from mastio.plugin.loading import find_plugins
from mastio.settings import read_settings

if __name__ == "__main__":
    for item in find_plugins(read_settings(Path(os.devnull))[0])[0]:
        if item.plugin.preload is not None:
            item.plugin.preload(item.settings)
