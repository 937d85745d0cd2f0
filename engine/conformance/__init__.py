"""Holds the engine to what real systems did with the same input.

`python -m engine.conformance FILE...` reads oracle files and runs each case through the engine's public operators.
"""
