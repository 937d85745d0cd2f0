"""Runs: one live engine each, driven and watched over a websocket.

models, selectors, services   what is kept: a run is its choices, not its state
logs                          arithmetic on the log of choices
bundles, recordings           from a stored run to an engine that replays it
registry, live, player        the engines in memory, which are only a cache
writer                        choices reach the disk before anybody sees their effect
protocol, errors              the only modules that know the wire form
outbox, consumers, views      what a browser talks to
"""
