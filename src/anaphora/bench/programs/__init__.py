"""What processes do that a question starts: `python -m anaphora.bench.programs.NAME`, see `anaphora.bench.child`."""
