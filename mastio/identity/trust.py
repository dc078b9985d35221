"""The certificates that an agent's leaf may chain to. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trust:
    """The certificates that an agent's leaf may chain to, DER: our roots, and the intermediates below them.

    More than one of each while a rotation's overlap lasts.
    """

    roots: tuple[bytes, ...]
    intermediates: tuple[bytes, ...]
