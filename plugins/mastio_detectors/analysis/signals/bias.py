"""Bias: contempt for people because of what they are, and orders to treat them worse for it."""

from mastio_detectors.analysis.signals.signal import Signal

SIGNALS = (
    Signal("bias.hate", 68, "derog group", 40),
    Signal("bias.hate", 64, "group trait", 22, ordered=True, cue="copula"),
    Signal("bias.hate", 30, "group trait spread", 60),
    Signal("bias.hate", 62, "joke group", 25, ordered=True, unless="harmless_joke"),
    Signal("bias.hate", 62, "hatekind spread", 45),
    Signal("bias.hate", 40, "hatekind group", 60),
    Signal("bias.hate", 30, "hatekind spread group", 80),
    Signal("bias.discrimination", 66, "exclude group decision", 90, unless="goodlens"),
    Signal("bias.discrimination", 45, "exclude group", 40),
    Signal("bias.stereotype", 35, "derog spread", 60),
)
