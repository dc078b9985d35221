"""The plugin `audit`: every recorded exchange in one tamper-evident log, on stable storage before anything is done."""
