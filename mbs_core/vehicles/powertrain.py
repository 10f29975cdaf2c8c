"""Engine, brakes and speed hold, from three pedals between 0 and 1."""

from mbs_core.symbolic import absolute, maximum, minimum, select, sqrt

ENGINE_FORCE, ENGINE_POWER = 5200.0, 125e3      # N at the wheels, W
ENGINE_DRAG = 12.0                              # N s/m: engine braking with the pedal released
BRAKE_FORCE = 12000.0                           # N at full pedal
HOLD_GAIN = 3.0                                 # 1/s
TURN_ROUND = 1.0                                # rad/s over which a brake turns round
SLOWEST = 3.0                                   # m/s: below, power does not limit the force


def pedal(m, name, doc):
    """Return a pedal: an input between 0 and 1, kept there whatever comes."""
    return minimum(maximum(m.input(name, '1', 0.0, doc), 0.0), 1.0)


def add_powertrain(m, chassis, car, axles, corners, speed, hold):
    """Drive and brake the wheels; return (force of the engine, force of the brakes) at the contacts, as demanded.

    The speed hold is a proportional controller with the resistances fed forward; it pauses while the brake is touched
    and steps back behind an accelerator that asks for more.
    """
    gas = pedal(m, 'accelerator', 'Accelerator pedal, 0 released to 1')
    stop = pedal(m, 'brake', 'Brake pedal, 0 released to 1')
    clutch = pedal(m, 'clutch', 'Clutch pedal, 0 closed to 1 open')
    most = minimum(ENGINE_FORCE, ENGINE_POWER / maximum(absolute(speed), SLOWEST))
    resist = car.drag * speed * absolute(speed) + car.rolling * car.mass * 9.81
    wish = car.mass * HOLD_GAIN * (hold - speed) + resist
    held = minimum(maximum(wish, -0.3 * ENGINE_FORCE), most) * maximum(1.0 - 20.0 * stop, 0.0)
    # engine braking only with neither pedal nor hold, and gone at rest
    coasting = -ENGINE_DRAG * speed * maximum(1.0 - 10.0 * gas, 0.0)
    own = gas * most + select(0.0 < hold, 0.0, coasting)
    engine = select(0.0 < hold, maximum(held, own), own) * (1.0 - clutch)
    for axle in axles:
        for corner in corners[axle.name]:
            turning = corner.wheel.qd
            brake = 0.5 * axle.brake * BRAKE_FORCE * car.radius * stop
            m.push_joint(corner.wheel, -brake * turning / sqrt(turning * turning + TURN_ROUND * TURN_ROUND), 'brake')
            if axle.drive:
                shaft = 0.5 * axle.drive * engine * car.radius
                m.push(corner.wheel, (0.0, 0.0, 0.0), torque=(0.0, shaft, 0.0), on=chassis, frame=corner.carrier, name='drive')
    return engine, BRAKE_FORCE * stop
