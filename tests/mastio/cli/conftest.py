"""One appliance for all tests of a module."""

from __future__ import annotations

from support.control_server import served as served
