"""The store on SQL: what any database shares stands here, what only one needs in its own folder."""
