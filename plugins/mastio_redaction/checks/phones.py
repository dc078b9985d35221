"""Telephone numbers, confirmed by the numbering plans that phonenumbers has, without its parser. Pure.

Its parser takes as long as the rest of a scan; its tables do not. A plan is compiled when a number of it is first seen.
"""

from __future__ import annotations

import re
from functools import cache

from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata

from mastio_redaction.checks.digits import digits

_CODES = frozenset(map(str, COUNTRY_CODE_TO_REGION_CODE))


@cache
def _plan(digits_of_code: str) -> re.Pattern[str] | None:
    """National numbers of a country calling code."""
    patterns = []
    code = int(digits_of_code)
    for region in COUNTRY_CODE_TO_REGION_CODE[code]:
        data = (
            PhoneMetadata.metadata_for_nongeo_region(code)
            if region == "001"
            else PhoneMetadata.metadata_for_region(region)
        )
        if data is not None and data.general_desc is not None and data.general_desc.national_number_pattern:
            patterns.append(data.general_desc.national_number_pattern)
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns)) if patterns else None


def is_phone(text: str) -> bool:
    """A number with its country calling code."""
    return _is_international(digits(text), text)


def _is_international(number: str, text: str) -> bool:
    for length in (2, 1, 3):  # no code begins another
        if (code := number[:length]) in _CODES:
            plan = _plan(code)
            if plan is None:
                return False
            national = digits(text.replace("(0)", "")) if "(0)" in text else number
            return plan.fullmatch(national, length) is not None
    return False


def is_any_phone(text: str) -> bool:
    """A number that may be written as in its own country. Words or its form have told that it is one."""
    number = digits(text)
    if "+" in text or number.startswith("00"):
        return _is_international(number.removeprefix("00"), text)
    return 7 <= len(number) <= 15 and len(set(number)) > 2 and len(set(number[-7:])) > 1
