"""The 1 kHz loop: measured motion in, limited force out, with no Python in the tick.

`settings` says what a loop is to do, `receive`, `supervise`, `limits` and `tick` are its rules, `statistics` its
bookkeeping, all written once in the kernel subset of Python on one block of doubles; `program` compiles them with
`primitives` (clock, lock, messages, model) to one native function. `loop` runs that function on a thread of its own,
`fallback` runs the same rules as plain Python on rclpy; `messages` and `ros` know the bytes and the handles.
"""

from mbs_haptics.realtime.settings import Channel, Input, Limits, Settings

__all__ = ['Channel', 'Input', 'Limits', 'Settings']
