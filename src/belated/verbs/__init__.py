"""What the verbs of a study do: from what a user says to events, and from the record to the answer.

`study.py` has their signatures and what they promise."""
