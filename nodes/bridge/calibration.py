"""Calibrate the sensors of a device from readings beside a reference; where the reference comes from is the caller's.

Positions and forces are fitted to known values at rest. A velocity sensor is fitted to the derivative of the position that
was calibrated just before, while the joint moves. The noise of every sensor is measured at rest.
"""

import dataclasses
import math
import time
from dataclasses import dataclass

import numpy as np

from mbs_core.errors import MbsError
from mbs_core.transducers import Fit

COUNTS = slice(7, 13)
WINDOW = 15                 # samples that the derivative is smoothed over
OUTLIER = 6.0               # robust standard deviations: spikes of a coil are left out of its fit


@dataclass(frozen=True)
class Result:
    """One calibrated sensor: its joint, its fit, and the noise measured at rest (SI)."""

    joint: str
    name: str
    fit: Fit
    noise: float

    @property
    def sensor(self):
        """Return the calibrated transducer with its noise."""
        noise = self.noise if math.isfinite(self.noise) and self.noise > 0 else self.fit.sensor.noise
        return self.fit.sensor.replace(noise=noise)


class Recorder:
    """Raw counts of a connected session, by the names of the device's channels."""

    def __init__(self, session):
        self.session = session
        self.channels = [sensor.name for sensor in session.device.sensors]

    def record(self, seconds) -> tuple:
        """Return (device time in s, {channel: counts}) of the next seconds; zero set-points keep the force at zero."""
        session, rows, end = self.session, [], time.monotonic() + seconds
        zero = [(0.0, 0.0, 0.0, 0.0)] * len(session.device.actuators)
        while session.poll(0.0):            # what waited in the link is of the past
            pass
        while time.monotonic() < end:
            for state in session.poll(0.05):
                session.setpoint(zero, state.t_us)
                rows.append((state.t_us * 1e-6, *state.frame.values[COUNTS]))
        if len(rows) < 10:
            raise MbsError(f"only {len(rows)} samples came in {seconds:g} s: {session.problem or 'run `haptic doctor`'}")
        data = np.array(rows)
        return data[:, 0], {name: data[:, 1 + k] for k, name in enumerate(self.channels)}


def columns(sensor, recorded) -> list:
    """Return the counts of a sensor's channels, one array each."""
    try:
        return [recorded[channel] for channel in sensor.channels]
    except KeyError as error:
        raise MbsError(f"transducer '{sensor.name}' reads the channel {error} that the device does not have") from None


def at_rest(sensor, points) -> Fit:
    """Fit a sensor to points at rest: [(recorded, reference value)]; each recording counts as its mean."""
    means = [[float(np.median(column)) for column in columns(sensor, recorded)] for recorded, _ in points]
    return sensor.transducer.fit(list(map(list, zip(*means))), [reference for _, reference in points])


def in_motion(sensor, t, recorded, position) -> Fit:
    """Fit a velocity sensor to the derivative of positions (SI) recorded at the same times t (s).

    Position and counts pass the same smoothing, so what it takes away is missing on both sides; spikes are left out.
    """
    if len(t) < 4 * WINDOW:
        raise MbsError(f"the motion for '{sensor.name}' is too short: move the joint for some seconds")
    grid = np.arange(t[0], t[-1], np.median(np.diff(t)))            # lost frames leave gaps
    smooth = _smooth(np.interp(grid, t, position))
    velocity = (smooth[2:] - smooth[:-2]) / (2 * float(grid[1] - grid[0]))
    counts = []
    for column in columns(sensor, recorded):
        column = _smooth(_without_spikes(np.interp(grid, t, column)))
        counts.append((column[:-2] + 2 * column[1:-1] + column[2:]) / 4)    # the mean over the same two periods
    keep = np.ones(len(velocity), bool)
    for _ in range(3):
        fit = sensor.transducer.fit([column[keep] for column in counts], velocity[keep])
        residuals = np.asarray(fit.sensor.residuals(counts, velocity))
        spread = 1.4826 * float(np.median(np.abs(residuals - np.median(residuals))))
        keep = np.abs(residuals) <= max(OUTLIER * spread, 1e-12)
    return fit


def _smooth(values):
    """Return the values averaged over a Hann window, the ends left out."""
    window = np.hanning(WINDOW + 2)[1:-1]
    return np.convolve(values, window / window.sum(), 'valid')


def _without_spikes(values):
    """Return the values, each replaced by the median of five around it."""
    padded = np.pad(values, 2, mode='edge')
    return np.median([padded[k:k + len(values)] for k in range(5)], axis=0)


def noise_of(sensor, transducer, recorded) -> float:
    """Return the standard deviation of a sensor at rest (SI), robust against spikes."""
    values = np.asarray(transducer.si(*columns(sensor, recorded)), float)
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def calibrate(config, recorder, reference, motion, say=lambda text: None, has_reference=lambda joint: True) -> list:
    """Return the Results for all sensors of a configuration.

    reference(joint, quantity) yields (recorded, value) points at rest for 'position' and 'force', at least three;
    motion(joint) moves the joint and returns (t, recorded). Auxiliary joints without a reference keep their numbers.
    """
    results = []
    for joint in (*config.joints, *(joint for joint in config.auxiliary if has_reference(joint))):
        points, still = {}, None
        fits = {}
        for sensor in joint.sensors:
            quantity = sensor.transducer.quantity
            if quantity in ('position', 'force'):
                if quantity not in points:
                    points[quantity] = list(reference(joint, quantity))
                fits[sensor.name] = at_rest(sensor, points[quantity])
                still = still or points[quantity][0][0]
        first = next(sensor for sensor in joint.sensors if sensor.transducer.quantity == 'position')
        others = [sensor for sensor in joint.sensors if sensor.name not in fits]
        if others:
            t, recorded = motion(joint)
            position = fits[first.name].sensor.si(*columns(first, recorded))
            for sensor in others:
                if sensor.transducer.quantity != 'velocity':
                    say(f"'{sensor.name}' measures {sensor.transducer.quantity}: it keeps its numbers")
                    continue
                fits[sensor.name] = in_motion(sensor, t, recorded, np.asarray(position))
        for sensor in joint.sensors:
            if sensor.name in fits:
                fit = fits[sensor.name]
                results.append(Result(joint.name, sensor.name, fit, noise_of(sensor, fit.sensor, still)))
    return results


def to_yaml(results, heading) -> str:
    """Return the calibration file: the numbers that changed, with their residuals as comments."""
    lines = [f'# {line}' for line in heading.splitlines()] + ['/**:', '  ros__parameters:', '    transducers:']
    for result in results:
        fit = result.fit
        lines.append(f'      {result.name}:      # rms residual {fit.rms:.3g}, largest {fit.largest:.3g}, of a span of {fit.span:.3g} '
                     f'({100 * fit.relative:.2g} %), {fit.readings} readings')
        for field in dataclasses.fields(result.sensor):
            value = getattr(result.sensor, field.name)
            # YAML 1.1 takes 1e-05 for text: there must be a point
            text = repr(value) if isinstance(value, int) else f'{value:.9g}'
            if isinstance(value, float) and '.' not in text:
                text = text.replace('e', '.0e') if 'e' in text else text + '.0'
            lines.append(f'        {field.name}: {text}')
    return '\n'.join(lines) + '\n'
