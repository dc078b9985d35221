"""All types that come with the appliance, by class, each in a file of its own."""

from __future__ import annotations

from mastio_redaction.catalogue import finance, health, national, network, people, secrets
from mastio_redaction.rule import Type

CATALOGUE: tuple[Type, ...] = (
    *people.TYPES,
    *finance.TYPES,
    *national.TYPES,
    *health.TYPES,
    *network.TYPES,
    *secrets.TYPES,
)

BY_NAME = {kind.name: kind for kind in CATALOGUE}

_BY_WORDS_ALONE = frozenset(
    ("PASSPORT", "DRIVER_LICENSE", "TAX_ID", "PASSWORD", "USERNAME", "SSH_KEY", "MEDICAL_RECORD_NUMBER")
)
_WITH_CHECK_DIGIT = frozenset(
    ("CREDIT_CARD", "IBAN_CODE", "US_BANK_ROUTING", "UK_NHS", "US_NPI", "US_DEA", "US_MEDICARE")
)

DEFAULT = frozenset(
    kind.name
    for kind in CATALOGUE
    if kind.name in _WITH_CHECK_DIGIT
    or (kind.cls in ("national_id", "credential") and kind.name not in _BY_WORDS_ALONE)
)
"""The types that a fresh appliance takes out of requests: cards, IBANs, national ids, keys and tokens. A check digit,
an issuer's own form or its randomness confirms each value."""
