"""All types that come with the appliance, by class, each in a file of its own."""

from __future__ import annotations

from ..rule import Type
from . import finance, health, national, network, people, secrets

CATALOGUE: tuple[Type, ...] = (
    *people.TYPES,
    *finance.TYPES,
    *national.TYPES,
    *health.TYPES,
    *network.TYPES,
    *secrets.TYPES,
)

BY_NAME = {kind.name: kind for kind in CATALOGUE}
