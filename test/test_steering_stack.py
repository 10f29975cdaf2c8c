"""The steering wheel's whole stack with the virtual driver: he avoids an obstacle, feels the caster, and uses the pedals."""

import importlib.util

import numpy as np
import pytest

from mbs_core.control.driver import Driver, Evasion

pytestmark = pytest.mark.alone           # whole stacks: what runs beside them would show in their timing


if importlib.util.find_spec('rclpy') and importlib.util.find_spec('cobs'):
    def test_virtual_driver_avoids_an_obstacle_through_the_stack(tmp_path):
        """Arms, column, encoder, loop, car, motor: the car passes the obstacle, and the torque is that of the model."""
        from mbs_haptics.validate.bench import Bench
        from mbs_haptics.validate.recording import Recorded
        from mbs_haptics.validate.steering_wheel import HALF_WIDTH, SIGNALS, TOPICS
        from mbs_haptics.validate.virtual_driver import VirtualDriver
        with Bench('steering_wheel', tmp_path, signals=SIGNALS) as bench:
            wheel = VirtualDriver(bench, Driver())
            bench.set(**{'caster.distance': 40.0})
            wheel.drive(lambda x: 0.0, 1.0)
            way = Evasion(wheel.car['x'] + 14.0)
            bench.scene('avoid')
            wheel.drive(way.y, 12.0, until=lambda car: car['x'] > way.start + 100.0)
            bench.scene('brake')
            bench.plant(brake=0.4)
            wheel.drive(lambda x: 0.0, 1.0)
            bench.scene('end')
        recorded = Recorded(bench.bag, TOPICS)
        out, truth = (recorded.part(topic, recorded.scene('avoid')) for topic in ('model_outputs', 'truth'))
        x0, x1, _, y1 = way.obstacle
        beside = (out['vehicle.x'] > x0) & (out['vehicle.x'] < x1)
        assert beside.sum() > 100 and out['vehicle.y'][beside].min() > y1 + HALF_WIDTH
        assert abs(out['vehicle.y'][-1]) < 0.5
        assert 0.15 < np.abs(truth['position']).max() < 1.5
        asked, made = -out['steering_wheel.effort'], np.interp(out.t, truth.t, truth['force'])
        assert np.ptp(asked) > 6.0
        assert np.median(np.abs(made - asked)) < 0.05 * np.ptp(asked)
        stopping = recorded.part('model_outputs', recorded.scene('brake'))['vehicle.speed']
        assert stopping[-1] < stopping[0] - 2.0
