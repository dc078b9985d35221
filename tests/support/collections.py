"""The collections of the appliance's own plugins."""

from __future__ import annotations

from typing import Any

from mastio.collection import Collection
from mastio_detectors.collection import DETECTORS
from mastio_egress.collection import CONNECTIONS
from mastio_limits.collection import BUDGETS
from mastio_llm.collection import PROVIDERS
from mastio_policy.collection import POLICIES
from mastio_redaction.collection import REDACTION

COLLECTIONS: tuple[Collection[Any], ...] = (POLICIES, BUDGETS, DETECTORS, REDACTION, PROVIDERS, CONNECTIONS)
