"""What the gate asks of a candidate: who said it, in which sense, of whom, and whether it was all said."""
