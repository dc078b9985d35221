"""The event loop of the shim: uvloop's where it is installed (not on Windows), else that of asyncio."""

try:
    from uvloop import run as run
except ImportError:
    from asyncio import run as run  # type: ignore[assignment]
