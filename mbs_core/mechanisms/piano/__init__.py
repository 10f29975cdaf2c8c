"""The grand-piano action in pieces: its numbers, the strokes it is played with, and how its numbers were found."""
