"""Identity claim: saying to be somebody with authority, so that rules give way."""

from mastio_detectors.analysis.signals.signal import Signal

SIGNALS = (
    Signal("identity.authority", 45, "authority iam demand", 120),
    Signal("identity.authority", 30, "authority iam demand sensitive", 130),
    Signal("identity.authority", 68, "iam authority demand sensitive", 110, ordered=True),
    Signal("identity.authority", 66, "iam authority sensitive demand", 110, ordered=True),
    Signal("identity.authority", 66, "authority iam disable", 120),
    Signal("identity.authority", 66, "authority iam override", 110),
    Signal("identity.authority", 62, "authority iam ownrules", 120),
    Signal("identity.authority", 62, "authority iam ownprompt", 110),
    Signal("identity.authority", 66, "iamhere demand sensitive", 100),
    Signal("identity.authority", 45, "iamhere demand", 70),
    Signal("identity.bypass", 40, "noverify authority", 130),
    Signal("identity.bypass", 64, "noverify demand sensitive", 120),
    Signal("identity.bypass", 40, "noverify demand", 90),
    Signal("identity.bypass", 40, "noverify iam", 90),
    Signal("identity.bypass", 62, "noverify demand authority", 130),
    Signal("identity.bypass", 62, "noverify authority iam", 130),
    Signal("identity.bypass", 15, "authority demand sensitive", 90),
    Signal("identity.pressure", 30, "urgency authority demand", 120),
    Signal("identity.pressure", 40, "urgency noverify", 120),
    Signal("identity.pressure", 35, "urgency authority iam", 110),
)
