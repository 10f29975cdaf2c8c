"""The sound node: notes at the hammer's impact, as MIDI on the topic `midi` and, where the system has one, on a MIDI port.

It follows `model_outputs` sample by sample (raw, drained every 2 ms, so that none is missed), finds the strikes
(strikes.py) and publishes std_msgs/UInt8MultiArray with the bytes of a MIDI message: 0x90 note velocity when the hammer
strikes, 0x80 note 0 when the damper falls back. Parameters: note, channel, port ('': none, 'virtual', a port's name by mido,
or the path of a raw device such as /dev/snd/midiC1D0), wav (a file that the session is rendered into at its end).
"""

import signal
import sys

from mbs_core.errors import MbsError
from mbs_haptics import environment
from mbs_haptics.strikes import Strikes

NEEDED = ('hammer.gap', 'hammer.speed', 'string.force', 'key.front')
DRAIN = 0.002           # s between looks at the samples
DAMPED = 3.0e-3         # m: a key above this has let its damper down
DEPTH = 2000            # samples that wait at most, should this process be held up


class Player:
    """Turns samples of the model's outputs into MIDI messages: feed(t, {output: value}) returns their bytes."""

    def __init__(self, note=60, channel=0):
        self.note, self.channel, self.sounds, self.notes = note, channel, False, []
        self._strikes = Strikes()

    def feed(self, t, values) -> list:
        """Return the MIDI messages ([status, note, velocity]) that a sample causes."""
        out = []
        strike = self._strikes.feed(t, values['hammer.gap'], values['hammer.speed'], values['string.force'])
        if strike is not None:
            out.append([0x90 | self.channel, self.note, strike.velocity])
            self.sounds = True
            self.notes.append([strike.t, None, strike.velocity])
        elif self.sounds and values['key.front'] < DAMPED:
            out.append([0x80 | self.channel, self.note, 0])
            self.sounds = False
            for note in self.notes[-1:]:
                note[1] = t
        return out


def open_port(name):
    """Return a function that sends the bytes of a MIDI message to a port; MbsError where the system has none of that name."""
    if not name:
        return lambda message: None
    if name.startswith('/'):
        try:
            port = open(name, 'wb', buffering=0)       # open as long as the node lives
        except OSError as error:
            raise MbsError(f"the MIDI device '{name}' can't be opened: {error.strerror}; `ls /dev/snd/midi*` shows those there are") from None
        return lambda message: port.write(bytes(message))
    try:
        import mido
    except ImportError:
        raise MbsError(f"the MIDI port '{name}' needs mido: `pip install mido python-rtmidi`; or give a path such as /dev/snd/midiC1D0") from None
    try:
        port = mido.open_output('mbs_haptics', virtual=True) if name == 'virtual' else mido.open_output(name)
    except (OSError, ImportError) as error:
        raise MbsError(f"the MIDI port '{name}' can't be opened: {error}") from None
    return lambda message: port.send(mido.Message.from_bytes(message))


class Sound:
    """The node's work: drains samples, plays, and keeps the notes."""

    def __init__(self, node):
        from std_msgs.msg import UInt8MultiArray
        self.node, self.layout, self.places, self.last_t = node, None, None, 0.0
        note, channel = self._whole('note', 60, 127), self._whole('channel', 0, 15)
        self.port = open_port(self._parameter('port', '', "MIDI port: '', 'virtual', a name, or a path"))
        self.wav = self._parameter('wav', '', 'WAV file of the session, written at its end')
        if self.wav and not self.wav.endswith('.wav'):
            raise MbsError(f"the sound file '{self.wav}' must end in .wav")
        self.player = Player(note, channel)
        self.message = UInt8MultiArray
        self.publisher = node.create_publisher(UInt8MultiArray, 'midi', 10)
        self.subscription = self._subscribe()

    def _parameter(self, name, default, text):
        from rcl_interfaces.msg import ParameterDescriptor
        return self.node.declare_parameter(name, default, ParameterDescriptor(description=text, read_only=True)).value

    def _whole(self, name, default, most):
        value = self._parameter(name, default, f'MIDI {name}, 0 to {most}')
        if not 0 <= value <= most:
            raise MbsError(f"the parameter '{name}' must be from 0 to {most}, not {value}")
        return value

    def _subscribe(self):
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from sensor_msgs.msg import JointState

        from mbs_haptics.realtime.ros import NeverServed
        qos = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
        return self.node.create_subscription(JointState, 'model_outputs', lambda message: None, qos, raw=True, callback_group=NeverServed())

    def drain(self):
        """Take every waiting sample and play what it says."""
        handle = self.subscription.handle
        with handle:
            while (found := handle.take_message(self.subscription.msg_type, True)) is not None:
                self._sample(bytes(found[0]))

    def _sample(self, data):
        if self.layout is None:
            self._learn(data)
        if not self.layout.matches(data):
            return
        stamp, _, _ = self.layout.read_head(data)
        self.last_t = stamp * 1e-9
        for message in self.player.feed(self.last_t, {name: self.layout.read(data, place) for name, place in self.places.items()}):
            self.publisher.publish(self.message(data=message))
            self.port(message)

    def _learn(self, data):
        from rclpy.serialization import deserialize_message
        from sensor_msgs.msg import JointState

        from mbs_haptics.realtime import messages
        names = list(deserialize_message(data, JointState).name)
        missing = [name for name in NEEDED if name not in names]
        if missing:
            raise MbsError(f"'model_outputs' has no '{missing[0]}': add it to the parameter 'outputs' of rosbotran")
        self.layout = messages.joint_state(messages.rclpy_codec(JointState), names)
        self.places = {name: f'position[{names.index(name)}]' for name in NEEDED}

    def close(self):
        """Render the session, if wanted."""
        if self.wav and self.player.notes:
            from mbs_haptics.synthesis import render
            render(self.wav, self.player.notes, self.player.note, self.last_t + 1.0)
            print(f'{len(self.player.notes)} notes rendered into {self.wav}', flush=True)


def main(argv=None):
    """Run the node until Ctrl-C or SIGTERM and return the exit code."""
    stops = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stops.append(True))
    try:
        environment.need_ros()
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.signals import SignalHandlerOptions
        rclpy.init(args=sys.argv if argv is None else argv, signal_handler_options=SignalHandlerOptions.NO)
        node = rclpy.create_node('sound')
        try:
            sound = Sound(node)
            executor = SingleThreadedExecutor()
            executor.add_node(node)
            while not stops:
                sound.drain()
                executor.spin_once(timeout_sec=DRAIN)
            sound.drain()
            sound.close()
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
    except MbsError as error:
        print(f'sound: {error}', file=sys.stderr)
        return 2
    return 0


if __name__ == '__main__':
    sys.exit(main())
