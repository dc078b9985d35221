"""The sources of policies and of the names that they use: files, or a running appliance."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from mastio.exchange.destination import find_destination
from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import connect, pages
from mastio_policy.collection import PolicyRow

POLICIES = "/v1/admin/policies"


def add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--policies", action="append", type=Path, metavar="PATH",
        help="a file with Cedar source, or a folder of *.cedar; repeatable (default: those of the appliance)",
    )  # fmt: skip
    parser.add_argument("--data", type=Path, help="data folder of an appliance on this machine (default: ./data)")
    parser.add_argument("--url", help="base URL of the appliance, with --ca and --token-file")
    parser.add_argument("--ca", type=Path, help="file with the appliance's CA certificate")
    parser.add_argument("--token-file", type=Path, help="file with an admin token")
    parser.add_argument("--json", action="store_true", help="print JSON")


def names_appliance(args: argparse.Namespace) -> bool:
    return args.data is not None or args.url is not None


def read_rows(args: argparse.Namespace) -> list[PolicyRow]:
    """The policies. Raises `ConfigurationError`, and `Refused` for what the appliance refuses."""
    if args.policies:
        return [row for path in args.policies for row in _read_path(path)]
    with connect(args) as client:
        return [
            PolicyRow(one["name"], one["cedar"], one["enabled"], one["mode"])
            for one in pages(client, POLICIES)
        ]  # fmt: skip


def _read_path(path: Path) -> list[PolicyRow]:
    files = sorted(path.glob("*.cedar")) if path.is_dir() else [path]
    try:
        return [PolicyRow(file.stem, file.read_text("utf-8")) for file in files]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The policies in {path} cannot be read.", "Give Cedar source in UTF-8.") from error


def read_agents(client: httpx.Client) -> Mapping[str, dict[str, Any]]:
    return {agent["name"]: agent for agent in pages(client, "/v1/admin/agents")}


def read_providers(client: httpx.Client) -> Mapping[str, dict[str, Any]]:
    return {provider["name"]: provider for provider in pages(client, "/v1/admin/providers")}


def describe_provider(provider: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a provider that policies may look at."""
    host, local = find_destination(provider["base_url"])
    return {"destination.kind": provider["kind"], "destination.host": host, "destination.local": local}
