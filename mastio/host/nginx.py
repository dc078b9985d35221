"""The nginx of this machine: where it is, and which version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from mastio.exchange.errors import ConfigurationError


def nginx_version() -> str:
    """The version of the nginx on this machine. Raises `ConfigurationError` without one."""
    nginx = find_nginx()
    if nginx is None:
        raise ConfigurationError(
            "nginx is not installed.", "Install it, or set edge.nginx to the version that will run."
        )
    said = subprocess.run([nginx, "-v"], capture_output=True, text=True, check=False).stderr
    match = re.search(r"nginx/([0-9.]+)", said)
    if match is None:
        raise ConfigurationError("nginx does not say its version.", "Set edge.nginx in the settings.")
    return match[1]


def find_nginx() -> str | None:
    """The path of nginx, or None; Debian keeps it out of an ordinary user's PATH."""
    return shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
