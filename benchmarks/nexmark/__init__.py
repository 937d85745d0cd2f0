"""Nexmark: queries over an auction site, as jobs in engine.datastream. `python -m benchmarks.nexmark DIR` runs them.

DIR holds nexmark_<dataset>.jsonl and expected/<dataset>__<query>.json, with the rows that Flink SQL gave for the same
events. Each query is a function from the streams of persons, auctions and bids to a stream of rows.
"""
