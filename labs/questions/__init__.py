"""Questions of labs: how they are written down, how a variant is made, and how an answer is judged by the engine.

    spec.py                           the form of a question in lab.toml; knows no engine
    facts.py                          what can be asked of a run, in words that an author writes
    scenes.py                         the run that a variant of a question is about
    predict.py drive.py counterexample.py   one type of question each
    report.py                         what is said about an answer

A type has `vary` (a variant from a seed) and `judge` (a report from an answer). Both are generators that yield between short
pieces of work, so that a web server can let everything else have its turn, and a test can run them through.
"""
