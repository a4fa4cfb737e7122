"""How facts and messages are read word by word: stems, numerals, quantities, markers, meanings. Pure."""
