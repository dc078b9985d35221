"""Threat: announcing harm to somebody, or demanding something under one."""

from mastio_detectors.analysis.signals.signal import Signal

SIGNALS = (
    Signal("threat.violence", 72, "violence willdo target", 45, unless="idiom"),
    Signal("threat.violence", 70, "assault willdo", 40, unless="idiom"),
    Signal("threat.violence", 30, "violence target", 20, unless="idiom"),
    Signal("threat.violence", 35, "assault", 0, unless="idiom"),
    Signal("threat.violence", 66, "weapon willdo target", 60),
    Signal("threat.intimidation", 66, "menace", 0),
    Signal("threat.intimidation", 42, "menaceweak", 0),
    Signal("threat.intimidation", 40, "menaceweak menace", 160),
    Signal("threat.intimidation", 45, "menaceweak assault", 160),
    Signal("threat.intimidation", 40, "menace target", 60),
    Signal("threat.extortion", 62, "extort menaceweak", 130),
    Signal("threat.extortion", 62, "extort willdo assault", 130),
    Signal("threat.intimidation", 40, "menace violence", 120),
    Signal("threat.extortion", 74, "extort damage", 130),
    Signal("threat.extortion", 45, "extort menace", 130),
    Signal("threat.extortion", 62, "extort willdo violence", 120),
    Signal("threat.damage", 62, "damage willdo", 40),
)
