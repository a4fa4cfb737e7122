"""What may become a fact, when two facts are the same, and which facts people state in plain words. Pure."""
