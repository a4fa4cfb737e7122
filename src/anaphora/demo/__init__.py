"""The demonstration: a long conversation shipped with the package, taken through the memory turn by turn."""
