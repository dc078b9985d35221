"""Confidential: marked as not for others, or asked for though it is."""

from mastio_detectors.analysis.signals.signal import Signal

SIGNALS = (
    Signal("confidential.marking", 66, "marking", 0),
    Signal("confidential.marking", 62, "mark", 0),
    Signal("confidential.secrets", 64, "secretthing confwant theirs", 80, unless="public"),
    Signal("confidential.secrets", 35, "secretthing marking", 120),
    Signal("confidential.secrets", 30, "secretthing mark", 160),
    Signal("confidential.key", 90, "pem", 0),
)
