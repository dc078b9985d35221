"""Addresses of machines and devices. Pure."""

from __future__ import annotations

from stdnum import imei, imsi

from mastio_redaction.catalogue.vocabulary import spoken
from mastio_redaction.checks.digits import by, is_ipv4, is_ipv6, is_mac, is_vin, varied
from mastio_redaction.rule import Type, after, shaped

_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"


_VERSION = (
    r"(?i:versions?|release|\bver|\brev|revision|firmware|build|assembly\w{0,12}|chapter|section|\boid)['\"]?\s{0,2}[:=(]{0,2}\s?['\"]?"
    r"(?:number |no\.? |is )?\Z|[=~^<>!]=\s?['\"]?\Z|[~^]\Z"
)
"""What announces a version or a place in a document."""


def _is_imei(text: str) -> bool:
    return varied(text) and bool(imei.is_valid(text))


TYPES = (
    Type("IP_ADDRESS", "network", "IPv4 or IPv6 address", (
        shaped(rf"(?<![\d.A-Za-z/-])(?:{_OCTET}\.){{3}}{_OCTET}(?![\d-]|\.\d)", 0.85, is_ipv4,
               trigger=r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d", behind=20, ahead=4, unless=_VERSION),
        shaped(r"(?<![0-9A-Za-z:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{1,4}|(?:\d{1,3}\.){3}\d{1,3})?(?![0-9A-Za-z:])",
               0.85, is_ipv6, trigger=r"(?:[0-9A-Fa-f]{1,4}:(?::[0-9A-Fa-f]{1,4}|[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{0,4}:))", behind=24,
               ahead=48),
    )),
    Type("MAC_ADDRESS", "network", "Hardware address of a network interface", (
        shaped(r"(?<![0-9A-Fa-f:-])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])", 0.9, is_mac,
               trigger=r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}", behind=20),
        shaped(r"(?<![0-9A-Fa-f:-])(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f-])", 0.9, is_mac,
               trigger=r"(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}", behind=20),
        shaped(r"(?<![\w.])(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}(?!\w|\.\w)", 0.8, is_mac,
               trigger=r"\b(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}\b", behind=20, ahead=3),
    )),
    Type("IMEI", "network", "Identity of a mobile device, by its words or its form", (
        after(r"imei", r"\d{2}[ -]?\d{6}[ -]?\d{6}[ -]?\d(?!\d)", 0.95, _is_imei),
        shaped(r"\b\d{2}-\d{6}-\d{6}-\d\b", 0.9, _is_imei, behind=24),
    )),
    Type("IMSI", "network", "Identity of a mobile subscriber, by the words before it", (
        after(r"imsi", r"\d{14,15}(?!\d)", 0.95, by(imsi)),
    )),
    Type("VEHICLE_ID", "network", "Vehicle identification number", (
        shaped(r"\b[A-HJ-NPR-Z0-9]{17}\b", 0.9, is_vin, behind=24),
    )),
    Type("LICENSE_PLATE", "pii", "Licence plate, by the words before it", (
        after(rf"(?:licen[cs]e plate|number plate|plate|registration plate|kennzeichen|immatriculation|matricula|targa|kenteken|{spoken('LICENSE_PLATE')})",
              r"(?=[A-Z0-9 -]{0,9}\d)[A-Z0-9]{1,4}[ -]?[A-Z0-9]{1,4}(?:[ -]?[A-Z0-9]{1,4})?\b", 0.75),
    )),
    Type("COORDINATES", "pii", "Geographic coordinates", (
        shaped(r"(?<![\d.-])-?(?:[1-8]?\d\.\d{4,8}|90\.0{4,8}), ?-?(?:1[0-7]\d|\d?\d)\.\d{4,8}(?!\d|\.\d|[,;] ?-?\d{1,4}\.\d{4})", 0.75,
               trigger=r"\d\.\d{4,8}, ?-?\d{1,3}\.\d{4}", behind=32, ahead=20, unless=r"\d\.\d{4,}[,;] ?\Z"),
    )),
)  # fmt: skip
