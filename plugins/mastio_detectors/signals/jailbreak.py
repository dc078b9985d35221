"""Jailbreak: talking the model out of what it holds itself to."""

from mastio_detectors.signals.signal import Signal

SIGNALS = (
    Signal("jailbreak.roleplay", 78, "youare unbound", 110),
    Signal("jailbreak.roleplay", 72, "unbound assistant", 60),
    Signal("jailbreak.roleplay", 45, "unbound fromnow", 130),
    Signal("jailbreak.roleplay", 50, "unbound norefuse", 160),
    Signal("jailbreak.roleplay", 45, "unbound harm", 120),
    Signal("jailbreak.roleplay", 62, "youare norefuse", 160),
    Signal("jailbreak.roleplay", 40, "unbound instructions", 60),
    Signal("jailbreak.persona", 72, "persona modeon", 60),
    Signal("jailbreak.persona", 72, "persona youare", 70),
    Signal("jailbreak.persona", 66, "persona unbound", 110),
    Signal("jailbreak.persona", 62, "persona norefuse", 130),
    Signal("jailbreak.persona", 55, "persona fromnow", 90),
    Signal("jailbreak.disable", 74, "disable safety", 45),
    Signal("jailbreak.disable", 50, "safety unbound", 70),
    Signal("jailbreak.disable", 45, "fromnow safety", 90),
    Signal("jailbreak.norefuse", 45, "norefuse", 0),
    Signal("jailbreak.norefuse", 68, "norefuse harm", 110),
    Signal("jailbreak.norefuse", 62, "norefuse fromnow", 140),
    Signal("jailbreak.norefuse", 62, "norefuse howto", 120),
    Signal("jailbreak.norefuse", 62, "norefuse disable", 140),
    Signal("jailbreak.norefuse", 62, "norefuse override", 140),
    Signal("jailbreak.pretext", 66, "pretext harm howto", 160),
    Signal("jailbreak.pretext", 62, "pretext unbound", 140),
    Signal("jailbreak.pretext", 62, "pretext norefuse", 160),
    Signal("jailbreak.pretext", 62, "pretext safety", 110),
)
