"""The link between host and device: one protocol definition, its Python codec, and what is generated from it."""
