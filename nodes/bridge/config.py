"""The configuration of a device from YAML: its joints, transducers, estimators and actuators, checked word by word.

One file per device (config/<device>.yaml) in the form of a ROS parameter file, so that launch files pass it to both nodes;
roscom reads its part here. A calibration file has the same form and replaces numbers of transducers.
"""

import dataclasses
import math
from dataclasses import dataclass, field
from pathlib import Path

from mbs_core.errors import MbsError, suggest
from mbs_core.haptics.estimator import QUANTITIES
from mbs_core.haptics.plausibility import Checks
from mbs_core.transducers import Sensor, from_dict

BLOCK, PARAMETERS = '/**', 'ros__parameters'
MOST_JOINTS, MOST_CHANNELS = 2, 6
AUXILIARY_JERK = 500.0           # of a joint that is only measured and says nothing: about 1 ms behind a noise of 1e-4


@dataclass(frozen=True)
class SensorConfig:
    """One sensor of a joint: its transducer, the device's channels it reads, and its plausibility checks."""

    name: str
    transducer: Sensor
    channels: tuple
    checks: Checks = field(default_factory=Checks)


@dataclass(frozen=True)
class ActuatorConfig:
    """The actuator of a joint: device coordinate x = ratio q + constant, so force at the device = effort / ratio."""

    channel: str
    ratio: float = 1.0
    effort_max: float = math.inf
    transducer: object = None


@dataclass(frozen=True)
class JointConfig:
    """A joint: its sensors, how lively it is (jerk), how many samples it may coast without a position, its actuator."""

    name: str
    sensors: tuple
    jerk: float
    coast: int
    actuator: ActuatorConfig | None = None

    @property
    def motion(self) -> tuple:
        """Return the sensors that the estimator uses."""
        return tuple(sensor for sensor in self.sensors if sensor.transducer.quantity in QUANTITIES)

    @property
    def force(self):
        """Return the sensor that measures its effort, or None."""
        return next((sensor for sensor in self.sensors if sensor.transducer.quantity == 'force'), None)


@dataclass(frozen=True)
class Truth:
    """Where a simulated plant tells the truth about a joint: q = gain * signal + offset; the hand goes from low to high."""

    signal: str
    gain: float
    offset: float
    low: float
    high: float


@dataclass(frozen=True)
class DeviceConfig:
    """A whole device: the firmware application it must be, its joints, and of a simulated plant its signals for them and its numbers."""

    app: str
    joints: tuple
    path: str = ''
    truth: dict = field(default_factory=dict)
    auxiliary: tuple = ()
    plant: dict = field(default_factory=dict)

    @property
    def names(self) -> list:
        """Return the names of the joints."""
        return [joint.name for joint in self.joints]

    @property
    def auxiliary_names(self) -> list:
        """Return the names of the joints that are only measured."""
        return [joint.name for joint in self.auxiliary]


def find(name) -> Path:
    """Return the file of a configuration given as a path, or as the name of one in the package's config folder."""
    path = Path(str(name)).expanduser()
    if path.suffix in ('.yaml', '.yml') or path.exists():
        if not path.is_file():
            raise MbsError(f"there is no configuration file '{path}': check config:=...")
        return path
    from mbs_haptics.environment import own_share
    folder = (own_share() or Path()) / 'config'
    if not (folder / f'{name}.yaml').is_file():
        known = [file.stem for file in folder.glob('*.yaml')]
        raise MbsError(f"there is no configuration '{name}'{suggest(str(name), known)} (config:=... takes a path, too)")
    return folder / f'{name}.yaml'


def read_yaml(path) -> dict:
    """Return the parameters of a YAML file; MbsError names the line that is malformed."""
    import yaml
    try:
        text = Path(path).read_text(encoding='utf-8')
        whole = yaml.safe_load(text)
    except OSError as error:
        raise MbsError(f"the file '{path}' can't be read ({error.strerror}): check its path and rights") from None
    except UnicodeDecodeError:
        raise MbsError(f"the file '{path}' is not text in UTF-8: save it as such") from None
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        where = f', line {mark.line + 1}, column {mark.column + 1}' if mark else ''
        problem = getattr(error, 'problem', None) or str(error).splitlines()[0]
        raise MbsError(f"'{path}'{where} is not YAML: {problem}; check indents, colons and brackets there") from None
    try:
        parameters = whole[BLOCK][PARAMETERS]
    except (TypeError, KeyError):
        parameters = None
    if not isinstance(parameters, dict):
        raise MbsError(f"'{path}' must begin with '{BLOCK}:' and, indented below it, '{PARAMETERS}:'")
    return parameters


def load(name, calibration='') -> DeviceConfig:
    """Return the configuration of a device, with the numbers of a calibration file if one is named."""
    path = find(name)
    try:
        parameters = read_yaml(path)
        if calibration:
            _merge(parameters, read_yaml(Path(calibration).expanduser()), calibration)
        return device(parameters, str(path))
    except MbsError as error:
        text = str(error)
        raise MbsError(text if text.startswith("'") or str(path) in text else f"in '{path}': {text}") from None


def _merge(parameters, calibrated, path):
    """Replace numbers of transducers by calibrated ones."""
    known = parameters.get('transducers')
    for name, numbers in _block(calibrated, 'transducers', str(path)).items():
        if not isinstance(known, dict) or name not in known:
            raise MbsError(f"the calibration '{path}' is of a transducer '{name}' that the device does not have"
                           f"{suggest(str(name), known or ())}")
        if not isinstance(numbers, dict):
            raise MbsError(f"the calibration '{path}' has no numbers for '{name}'")
        known[name] = {**known[name], **numbers}


def device(parameters, path='') -> DeviceConfig:
    """Return the configuration that a dict of parameters holds."""
    app, names = parameters.get('app'), parameters.get('joints')
    if not isinstance(app, str) or not app:
        raise MbsError("'app' must name the firmware application, for example app: piano_key")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise MbsError("'joints' must list the names of the joints, for example joints: [key]")
    if len(names) > MOST_JOINTS or len(set(names)) < len(names):
        raise MbsError(f"'joints' must list 1 to {MOST_JOINTS} different names, not {', '.join(names)}")
    more = parameters.get('auxiliary', [])
    if not isinstance(more, list) or not all(isinstance(name, str) and name for name in more):
        raise MbsError("'auxiliary' must list the names of joints that are only measured, for example auxiliary: [accelerator, brake]")
    if len({*names, *more}) < len(names) + len(more) or len(more) > MOST_CHANNELS:
        raise MbsError(f"'auxiliary' must list up to {MOST_CHANNELS} names that differ from each other and from 'joints', "
                       f"not {', '.join(more)}")
    driven, names = names, [*names, *more]
    sensors = {name: [] for name in names}
    for name, plain in _block(parameters, 'transducers').items():
        joint, sensor = _sensor(name, plain, names)
        sensors[joint].append(sensor)
    estimators, actuators = _block(parameters, 'estimators'), _block(parameters, 'actuators', default={})
    for what, block in (('estimators', estimators), ('actuators', actuators)):
        for name in block:
            if name not in sensors:
                raise MbsError(f"'{what}' names the joint '{name}' that is not in 'joints'{suggest(str(name), names)}")
    for name in more:
        if name in actuators:
            raise MbsError(f"the joint '{name}' is only measured ('auxiliary') but has an actuator: list it under 'joints'")
        estimators = {name: {'jerk': AUXILIARY_JERK}, **estimators}
    joints = [_joint(name, sensors[name], estimators.get(name), actuators.get(name)) for name in names]
    truth = {name: _truth(name, plain) for name, plain in _block(parameters, 'truth', default={}).items()}
    plant = dict(_block(parameters, 'plant', default={}))
    plant = {name: _number(plant, name, "the 'plant'") for name in list(plant)}
    return DeviceConfig(app, tuple(joints[:len(driven)]), path, truth, tuple(joints[len(driven):]), plant)


def _truth(name, plain) -> Truth:
    where = f"truth of '{name}'"
    if not isinstance(plain, dict) or not isinstance(plain.get('signal'), str):
        raise MbsError(f"{where} wants the 'signal' of the plant, for example signal: height")
    plain = dict(plain)
    signal = plain.pop('signal')
    numbers = {key: _number(plain, key, where) for key in ('gain', 'offset', 'low', 'high')}
    if plain:
        raise MbsError(f"{where} has no '{next(iter(plain))}'{suggest(str(next(iter(plain))), numbers)}")
    return Truth(signal, **numbers)


def _block(parameters, name, where='', default=None):
    block = parameters.get(name, default)
    if not isinstance(block, dict):
        raise MbsError(f"{where + ': ' if where else ''}'{name}' must be a block with an entry per name, not {block!r}")
    return block


def _number(plain, key, where, default=None):
    value = plain.pop(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise MbsError(f"{where}: '{key}' must be a number, not {value!r}")
    return float(value)


def _sensor(name, plain, joints):
    where = f"transducer '{name}'"
    if not isinstance(plain, dict):
        raise MbsError(f"{where} must be a block of 'key: value' lines, not {plain!r}")
    plain = dict(plain)
    joint, channels = plain.pop('joint', joints[0] if len(joints) == 1 else None), plain.pop('channels', None)
    if joint not in joints:
        raise MbsError(f"{where} is at the joint '{joint}' that is not in 'joints'{suggest(str(joint), joints)}")
    channels = [channels] if isinstance(channels, str) else channels
    if not isinstance(channels, list) or not all(isinstance(channel, str) for channel in channels):
        raise MbsError(f"{where}: 'channels' must list the device's channels, for example channels: [hall_front, hall_rear]")
    checks = _checks(plain.pop('checks', {}), where)
    transducer = from_dict(plain, where)
    if not isinstance(transducer, Sensor):
        raise MbsError(f"{where} is a {transducer.kind}, which drives: put it under 'actuators'")
    if len(channels) != transducer.inputs:
        raise MbsError(f"{where} (a {transducer.kind}) reads {transducer.inputs} channel(s), not {len(channels)}")
    if transducer.quantity in QUANTITIES and not transducer.noise > 0:
        raise MbsError(f"{where}: 'noise' must be the standard deviation of one sample in SI, not {transducer.noise:g}; "
                       '`haptic calibrate` measures it')
    return joint, SensorConfig(name, transducer, tuple(channels), checks)


def _checks(plain, where) -> Checks:
    if not isinstance(plain, dict):
        raise MbsError(f"{where}: 'checks' must be a block of 'key: value' lines, not {plain!r}")
    known = {f.name: f.type for f in dataclasses.fields(Checks)}
    for key, value in plain.items():
        if key not in known:
            raise MbsError(f"{where}: there is no check '{key}'{suggest(str(key), known)}")
        if not isinstance(value, (int, float)) or isinstance(value, bool) != (known[key] in (bool, 'bool')):
            raise MbsError(f"{where}: the check '{key}' must be {'true or false' if key == 'analogue' else 'a number'}, not {value!r}")
    try:
        return Checks(**plain)
    except MbsError as error:
        raise MbsError(f'{where}: {error}') from None


def _joint(name, sensors, estimator, actuator) -> JointConfig:
    where = f"joint '{name}'"
    if not any(sensor.transducer.quantity == 'position' for sensor in sensors):
        raise MbsError(f"{where} has no sensor of its position: add one under 'transducers'")
    if not isinstance(estimator, dict):
        raise MbsError(f"{where} wants an estimator: add its 'jerk' under 'estimators', for example {name}: {{jerk: 500.0}}")
    plain = dict(estimator)
    jerk, coast = _number(plain, 'jerk', where), _number(plain, 'coast', where, 3)
    if plain:
        raise MbsError(f"{where}: an estimator has no '{next(iter(plain))}'{suggest(str(next(iter(plain))), ('jerk', 'coast'))}")
    if not 0 < jerk < math.inf or not 0 <= coast <= 10:
        raise MbsError(f"{where}: 'jerk' must be positive and 'coast' 0 to 10 samples, not {jerk:g} and {coast:g}")
    return JointConfig(name, tuple(sensors), jerk, int(coast), None if actuator is None else _actuator(name, actuator))


def _actuator(name, plain) -> ActuatorConfig:
    where = f"actuator of '{name}'"
    if not isinstance(plain, dict):
        raise MbsError(f"{where} must be a block of 'key: value' lines, not {plain!r}")
    plain = dict(plain)
    channel = plain.pop('channel', None)
    if not isinstance(channel, str):
        raise MbsError(f"{where} wants a 'channel': the name of the device's actuator")
    effort_max = _number(plain, 'effort_max', where, math.inf)
    ratio, transducer = plain.pop('ratio', None), None
    if plain:
        transducer = from_dict(plain, where)
        if isinstance(transducer, Sensor):
            raise MbsError(f"{where} is a {transducer.kind}, which measures: put it under 'transducers'")
        effort_max = min(effort_max, transducer.effort_max)
        ratio = getattr(transducer, 'lever', 1.0) if ratio is None else ratio
    ratio = _number({'ratio': 1.0 if ratio is None else ratio}, 'ratio', where)
    if ratio == 0 or not math.isfinite(ratio) or not effort_max > 0:
        raise MbsError(f"{where}: 'ratio' must not be 0 and 'effort_max' positive, not {ratio:g} and {effort_max:g}")
    return ActuatorConfig(channel, ratio, effort_max, transducer)


def replay_config(config: DeviceConfig, sensors) -> DeviceConfig:
    """Return the configuration for a recording of the same joints: q, v and a of each come ready in SI."""
    from mbs_core.transducers import Accelerometer, Encoder, Gyroscope
    scale = {sensor.name: sensor.scale for sensor in sensors}
    joints, others = [], []
    for k, joint in enumerate(config.joints):
        made = []
        for letter, kind in (('q', Encoder), ('v', Gyroscope), ('a', Accelerometer)):
            step = scale[f'{letter}{k}']
            made.append(SensorConfig(f'{letter}{k}', kind(scale=step, noise=max(1e-3 * step, 1e-15)), (f'{letter}{k}',)))
        actuator = None if joint.actuator is None else ActuatorConfig(joint.name[:16], 1.0, joint.actuator.effort_max)
        joints.append(JointConfig(joint.name, tuple(made), max(joint.jerk, 1.0), joint.coast, actuator))
    for k, joint in enumerate(config.auxiliary):
        step = scale[f'x{k}']
        made = SensorConfig(f'x{k}', Encoder(scale=step, noise=max(1e-3 * step, 1e-15)), (f'x{k}',))
        others.append(JointConfig(joint.name, (made,), max(joint.jerk, 1.0), joint.coast))
    return DeviceConfig('replay', tuple(joints), config.path, auxiliary=tuple(others))
