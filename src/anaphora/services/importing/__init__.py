"""Import: other people's chat files become conversations of the log.

`records` reads a file, `openai`, `sharegpt` and `locomo` understand what it holds (pure), `formats` picks among them,
`run` appends. Parsers are lazy: a bad line is reported when it is reached, and what stood before it stays imported.
"""
