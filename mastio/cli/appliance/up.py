"""`mastio up`: bring the appliance up on this host."""

from __future__ import annotations

import argparse

from mastio.bring_up import native


def add_arguments(parser: argparse.ArgumentParser) -> None:
    native.add_data(parser)
    native.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    return native.run("up", args)
