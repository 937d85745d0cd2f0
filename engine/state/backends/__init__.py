"""Where keyed state lives, and what a snapshot of it costs.

`heap` copies everything; `changelog` notes every change behind a base; `lsm` writes what has changed into sorted runs that
checkpoints share. Reads are those of a dict in all three.
"""

from __future__ import annotations

from engine.state.backends.backend import Backend, BackendSettings, make_backend

__all__ = ["Backend", "BackendSettings", "make_backend"]
