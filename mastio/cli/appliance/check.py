"""`mastio check`: the effective settings, the active plugins in order, every route, and every problem found."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from mastio.exchange.errors import ConfigurationError
from mastio.process.plan import Plan, describe_settings, read_plan
from mastio.settings import Secrets
from mastio.store.secrets.key_sources import open_keys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=Path("data"), help="data folder (default: ./data)")
    parser.add_argument("--config", type=Path, help="settings file (default: DATA/mastio.toml)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    data = args.data.resolve()
    plan, problems = read_plan(data, args.config)
    problems += find_key_problems(data, plan.settings.secrets)
    found = describe(plan, problems)
    print(json.dumps(found, indent=2) if args.json else _as_text(found))
    for problem in problems:
        print(f"mastio: {problem}", file=sys.stderr)
    return 2 if problems else 0


def describe(plan: Plan, problems: list[str]) -> dict[str, Any]:
    """The settings in force, as plain JSON. Settings name files for secrets, so it contains no secret."""
    return {
        "settings": describe_settings(plan),
        "plugins": [item.plugin.name for item in plan.active],
        "routes": [
            {
                "methods": list(r.methods),
                "path": r.path,
                "requires": sorted(r.requires) or ["open"],
                "kind": r.kind,
                "plane": r.plane,
            }
            for r in plan.routes
        ],
        "problems": problems,
    }


def find_key_problems(data: Path, settings: Secrets) -> list[str]:
    """The problems with reading the key from its configured source. A key in the data folder may not have been made
    yet."""
    if not settings.key_file and not settings.key_command:
        return []
    try:
        open_keys(data, settings).key("store-secrets")
    except ConfigurationError as error:
        return [f"secrets: {error.message} {error.hint}"]
    return []


def _as_text(found: dict[str, Any]) -> str:
    lines = []
    for section, values in found["settings"].items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    lines += ["", "plugins: " + " ".join(found["plugins"]), ""]
    for route in found["routes"]:
        lines.append(
            f"{','.join(route['methods']):<10} {route['path']:<52} {route['plane']:<8} {','.join(route['requires'])}"
        )
    return "\n".join(lines)
