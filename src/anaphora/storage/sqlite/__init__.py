"""What only SQLite needs: pragmas, one writer thread with group commit, FTS5, its error codes."""
