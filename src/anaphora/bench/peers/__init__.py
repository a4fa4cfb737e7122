"""The same messages, questions and embedder for Anaphora and for what else keeps an agent's memory on one machine.

Each system runs in a process of its own: `python -m anaphora.bench.peers`, see `anaphora.bench.child`. The packages of
the others are loaded there, by their names, and are nowhere needed to check or to ship this package.
"""
