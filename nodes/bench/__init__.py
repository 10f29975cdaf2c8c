"""Benchmarks: our engine and its peers side by side in one run, per call and without interpreter overhead."""
