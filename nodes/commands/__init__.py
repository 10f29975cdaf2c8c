"""The verbs of the `haptic` command: one module each, imported only when its verb is used.

A verb module has `HELP`, one sentence on one line; `add_arguments(parser)`; and `run(args)`, which
returns the exit code. With `PASS_THROUGH = True`, arguments the parser does not know arrive as `args.rest`.
"""
