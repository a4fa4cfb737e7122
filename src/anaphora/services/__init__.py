"""Use cases: the only place where a plan meets I/O."""
