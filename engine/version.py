"""The version of the engine's semantics: a number that changes whenever the trace of some run changes."""

ENGINE_VERSION = 6
