"""Looks through the interleavings of something that runs step by step, for one that breaks a rule.

`search` says that a rule was violated, with the schedule; or that there is no other schedule; or which bound ended it.
"""
