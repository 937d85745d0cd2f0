"""Explorations: searches over all interleavings of a run, each in a process of its own.

models, selectors, services   what is kept: what was asked, and what came out
messages, offer               what may be asked
child                         the process that searches; it knows neither Django nor the database
search, pool                  its other end in the server, and the bounded number of them
consumers, views              what a browser talks to
"""
