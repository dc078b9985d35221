"""What the seven classes look for: concepts that stand near each other, and shapes. A file for each class."""

from __future__ import annotations

from collections.abc import Mapping

from mastio_detectors.analysis.signals import (
    bias,
    confidential,
    exfiltration,
    identity,
    injection,
    jailbreak,
    shapes,
    threat,
)
from mastio_detectors.analysis.signals.signal import CLASSES, Signal

SIGNALS: tuple[Signal, ...] = (
    *injection.SIGNALS,
    *jailbreak.SIGNALS,
    *threat.SIGNALS,
    *identity.SIGNALS,
    *confidential.SIGNALS,
    *exfiltration.SIGNALS,
    *bias.SIGNALS,
)

SHAPES: Mapping[str, str] = shapes.SHAPES

__all__ = ["CLASSES", "SHAPES", "SIGNALS", "Signal"]
