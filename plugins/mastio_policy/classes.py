"""Maps the label of a finding to the data classes of the schema. Pure.

A label is `class.TYPE`. Where its class is one of those of the schema, that is it; else the words of its type decide,
so that types that an operator adds have a class too when their names say what they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from mastio.cedar.schema import DATA_CLASSES, DETECTORS


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BY_CLASS: Mapping[str, frozenset[str]] = {
    "pii": frozenset({"pii"}),
    "secret": frozenset({"credential"}),
    "observed": frozenset(),  # what would have been done is no data
    "definition": frozenset(),  # what a tool's definition looks like is no data either
    **dict.fromkeys(DETECTORS, frozenset()),
}
"""By the class of a label. One that is not here is personal data until it is known to be something else."""

BY_WORD: Mapping[str, frozenset[str]] = {
    "financial": words(
        """CREDIT CARD IBAN BIC SWIFT BANK ROUTING ABA SORT BITCOIN ETHEREUM CRYPTO WALLET SALARY CURRENCY
        CUSIP ISIN LEI ACCOUNT PAN CVV"""
    ),
    "health": words(
        """MEDICAL HEALTH PATIENT DIAGNOSIS HOSPITAL NPI MRN ICD ICD10 NHS DEA MBI HICN MEDICARE MEDICAID DRUG
        PRESCRIPTION"""
    ),
    "national_id": words(
        """SSN PASSPORT NATIONAL DRIVER DRIVERS TAX TIN ITIN SIN NINO PESEL CPF CNPJ BSN DNI NIE NIF AADHAAR
        CURP RFC FISCALE NHS AHV PERSONNUMMER CPR HETU STEUER STEUERID PERSONALAUSWEIS INSEE NIR TCKN RRN
        NRIC HKID MYNUMBER TFN EGN CNP JMBG OIB AMKA RESIDENT IDENTITY VOTER"""
    ),
    "network": words("IP IPV4 IPV6 MAC URL URI HOSTNAME HOST DOMAIN CIDR IMEI"),
    "credential": words("PASSWORD SECRET TOKEN KEY JWT APIKEY PEM CREDENTIAL LOGIN"),
}
"""By a word of the type."""


@lru_cache(maxsize=1024)
def classes_of(label: str) -> frozenset[str]:
    """The data classes of a finding; none for what is no data, such as an injection."""
    first, _, kind = label.lower().partition(".")
    if first in DATA_CLASSES and first != "pii":
        return frozenset({first})
    known = BY_CLASS.get(first, BY_CLASS["pii"])
    if not known or not kind:
        return known if first == "pii" else frozenset()
    said = set(kind.upper().replace("-", "_").split("_"))
    return known | {name for name, named in BY_WORD.items() if said & named}
