"""The virtual driver at the simulated wheel: sees the car through the model's outputs, moves the arms of the virtual device.

Nothing of the stack is by-passed: he pulls at the simulated wheel through the arms' spring and damper, the encoder measures it,
the model answers, and the motor pushes back on the same wheel.
"""

import math
import time

from mbs_core.errors import MbsError

PERIOD = 0.01            # s between two decisions
LAG = 0.06               # s, of the muscles
ARMS = 0.06              # kg m2 of arms that hold the wheel
BLIND = 1.0              # s without a view of the car: he gives up


class VirtualDriver:
    """Drives on a running Bench; `car` is the newest view: x, y, yaw, speed."""

    def __init__(self, bench, driver):
        """Take hold of the wheel and open the eyes."""
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from sensor_msgs.msg import JointState
        self.bench, self.driver, self.car, self._seen, self._index = bench, driver, {}, time.monotonic(), None
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        bench.talk.node.create_subscription(JointState, f'{bench.watch.space}/model_outputs', self._see, newest)
        bench.plant(hand__stiffness=driver.stiffness, hand__damping=driver.damping, arm_lag_s=LAG, arm_inertia=ARMS, hand__target=0.0)
        bench.plant(hand__mode=1)
        self._await()

    def _see(self, message):
        if self._index is None:
            self._index = {name: message.name.index(f'vehicle.{name}') for name in ('x', 'y', 'yaw', 'speed')}
        self.car = {name: message.position[k] for name, k in self._index.items()}
        self._seen = time.monotonic()

    def _await(self):
        end = time.monotonic() + 5.0
        while not self.car:
            self.bench.talk.executor.spin_once(timeout_sec=0.05)
            if time.monotonic() > end:
                raise MbsError("the virtual driver sees nothing: the topic 'model_outputs' has to hold vehicle.x, y, yaw and speed")

    def drive(self, path, seconds, until=None):
        """Follow y = path(x) for a time, or until until(car) holds."""
        end = time.monotonic() + seconds
        due = time.monotonic()
        while time.monotonic() < end and not (until and until(self.car)):
            self.bench.talk.executor.spin_once(timeout_sec=max(due - time.monotonic(), 0.0))
            if time.monotonic() < due:
                continue
            due = max(due + PERIOD, time.monotonic())
            if time.monotonic() - self._seen > BLIND:
                raise MbsError(f"the virtual driver has not seen the car for {BLIND:g} s; see {self.bench.log}")
            self.pull(self.driver.aim(self.driver.angle(path, **self.car)))

    def watch(self, until, seconds):
        """Look at the car until until(car) holds; a car that never gets there in that time is an error."""
        end = time.monotonic() + seconds
        while not until(self.car):
            self.bench.talk.executor.spin_once(timeout_sec=PERIOD)
            if time.monotonic() > end:
                raise MbsError(f'after {seconds:g} s the car is not where the virtual driver waits for it: {self.car}; see {self.bench.log}')

    def pull(self, aim):
        """Let the arms pull to an angle."""
        if not math.isfinite(aim):
            raise MbsError(f'the arms of the virtual driver can not pull to {aim}')
        self.bench.plant(hand__target=aim)

    def release(self):
        """Take the hands off."""
        self.bench.plant(hand__mode=0)

    def grip(self):
        """Take hold again, where the wheel is straight."""
        self.bench.plant(hand__target=0.0)
        self.bench.plant(hand__mode=1)
