"""The page in the browser: a moving mechanism, live curves, sliders and switches; it only listens beside the loop."""
