"""Import: other people's chat files become conversations of the log.

`records` reads a file, `openai`, `sharegpt` and `locomo` understand what it holds (pure), `formats` picks among them,
`run` appends. Parsers are lazy: a bad line is reported when it is reached, and what stood before it stays imported.

Exports of Anaphora itself are another matter: `sources` finds their lines, `exported` reads them, and `restore` puts
back what they hold, with ids and times; nothing of an export that is not whole is written.
"""
