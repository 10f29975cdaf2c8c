"""From ROS parameters to a mechanism and the settings of its loop. No ROS in here: a `get(name, default)` is enough.

`get` declares a parameter with its default, checks the type and returns the value, or the default.
"""

from dataclasses import MISSING, fields

from mbs_core import mechanisms
from mbs_core.errors import MbsError, suggest
from mbs_core.haptics.passivity import check_stiffness
from mbs_haptics.realtime.settings import ADMITTANCE, IMPEDANCE, SAMPLE, TIMER, Channel, Input, Limits, Settings

TIMING = ('stale_after', 'decay', 'fault_after', 'ramp', 'parameter_ramp', 'clock_step', 'spin', 'acceleration_filter', 'most_missed',
          'frozen_samples')
CHANNEL = ('ratio', 'plausible_speed', 'frozen_speed', 'effort_output', 'force_input', 'stiffness', 'damping', 'stiffness_output',
           'damping_output', 'stiffness_max', 'damping_max')
WIDEST = 1e6            # range of a commanded input that declares none
STEP = 1e-5             # of the driven coordinate, for the stiffness by differences
# Simulated devices share a machine that stalls now and then, and hurt nobody: more patience, unless the parameters say otherwise.
RELAXED = {'stale_after': 0.03, 'decay': 0.05, 'fault_after': 0.2, 'most_missed': 200}
AUTO = 'auto'
SAMPLE_RATE_HZ = 1000.0  # of every device's main loop (docs/protocol.md)
LOCAL_PERIOD = 1e-4     # s, of the device's own loop, which renders the local law


def mechanism_of(get):
    """Return the mechanism that `mechanism`, `mechanism_options` and `mode` ask for.

    A mechanism that can be driven is, in impedance mode; in admittance mode it moves by itself.
    """
    name = get('mechanism', '')
    if not name:
        raise MbsError("the parameter 'mechanism' is missing: name one of the library, or the path of a file")
    mode = get('mode', IMPEDANCE)
    if mode not in (IMPEDANCE, ADMITTANCE):
        raise MbsError(f"the parameter 'mode' is '{IMPEDANCE}' or '{ADMITTANCE}', not '{mode}'")
    chosen = {}
    for word in get('mechanism_options', '').split():
        option, sign, text = word.partition('=')
        if not sign:
            raise MbsError(f"the parameter 'mechanism_options' holds words option=value, not '{word}'")
        chosen[option] = mechanisms.option_value(name, option, text)
    if 'driven' in mechanisms.options(name):
        chosen.setdefault('driven', mode == IMPEDANCE)
    return mechanisms.build(name, **chosen)


def settings_of(get, mechanism) -> Settings:
    """Return the settings of the loop: its channels with their limits, its rate and its patience."""
    mode = get('mode', IMPEDANCE)
    joints = [joint for joint in get('joints', ['']) if joint] or [c.name for c in mechanism.driven]
    if not joints:
        raise MbsError(f"the mechanism '{mechanism.name}' has no driven coordinate: name the measured ones in 'joints'")
    channels = tuple(_channel(get, mechanism, joint, mode) for joint in joints)
    relaxed = RELAXED if get('device', 'real') in ('virtual', 'replay') else {}
    timing = {name: get(f'timing.{name}', relaxed.get(name, _default(Settings, name))) for name in TIMING}
    return Settings(channels, rate_hz=get('rate_hz', 1000.0), wake=wake_of(get), method=get('method', 'rk4'),
                    substeps=get('substeps', 1), outputs=bool(outputs_of(get, mechanism)), inputs=inputs_of(get, mechanism, channels), **timing)


def wake_of(get) -> str:
    """Return what wakes the loop: by default the sample, where samples come at the loop's rate and no Python is in the way."""
    chosen = get('wake', AUTO)
    if chosen not in (AUTO, TIMER, SAMPLE):
        raise MbsError(f"the parameter 'wake' is '{AUTO}', '{SAMPLE}' or '{TIMER}', not '{chosen}'")
    if chosen != AUTO:
        return chosen
    return SAMPLE if get('rate_hz', 1000.0) == SAMPLE_RATE_HZ and get('loop', 'native') == 'native' else TIMER


def inputs_of(get, mechanism, channels) -> tuple:
    """Return the inputs of the mechanism that no channel's force enters: measured at a joint, or commanded.

    `inputs.<name>.joint` names the joint of a measured one, `inputs.<name>` is the value of a commanded one.
    """
    forces = [c.force_input for c in channels if c.mode == ADMITTANCE]
    found = []
    for name, own in mechanism.inputs.items():
        if name in forces:
            continue
        given = {key: get(f'inputs.{name}.{key}', _default(Input, key)) for key in ('joint', 'gain', 'offset', 'safe', 'slew')}
        measured = bool(given['joint'])
        given.update({key: get(f'inputs.{name}.{key}', _default(Input, key) if measured else limit)
                      for key, limit in (('low', -WIDEST), ('high', WIDEST))})
        found.append(Input(name, value=0.0 if measured else get(f'inputs.{name}.start', float(own.default)), **given))
    return tuple(found)


def auxiliary_of(get) -> list:
    """Return the joints of the samples that are only measured, for inputs of the model."""
    return [name for name in get('auxiliary', ['']) if name]


def outputs_of(get, mechanism) -> list:
    """Return the outputs of the mechanism that the parameter 'outputs' wants published."""
    names = [name for name in get('outputs', ['']) if name]
    for name in names:
        if name not in mechanism.outputs:
            raise MbsError(f"the parameter 'outputs': '{mechanism.name}' has no output '{name}'{suggest(name, mechanism.outputs)}")
    return names


def _default(cls, name):
    field = next(f for f in fields(cls) if f.name == name)
    return field.default if field.default is not MISSING else None


def _channel(get, mechanism, joint, mode):
    given = {name: get(f'channels.{joint}.{name}', _default(Channel, name)) for name in CHANNEL}
    limits = Limits(**{f.name: get(f'limits.{joint}.{f.name}', f.default) for f in fields(Limits)})
    coordinate = mechanism.coordinate_of(get(f'channels.{joint}.coordinate', joint))
    if mode == ADMITTANCE and not given['force_input'] and len(mechanism.inputs) == 1:
        given['force_input'] = next(iter(mechanism.inputs))
    if mode == IMPEDANCE:
        for key in ('stiffness', 'damping'):
            given[f'{key}_output'] = _slope(mechanism, coordinate, joint, key, given)
    return Channel(joint, coordinate.name, mode, limits=limits, **given)


def _slope(mechanism, coordinate, joint, key, given):
    """Return the output that holds a slope of the local law in the joint's units, made if it has to be scaled.

    By default it is the mechanism's own '<coordinate>.stiffness' or '.damping'; 'none' leaves it out (K = 0 or B = 0).
    """
    name = given[f'{key}_output']
    if name == 'none':
        return ''
    if not name:
        name = f'{coordinate.name}.{key}'
        if name not in mechanism.outputs:
            return ''
    if name not in mechanism.outputs:
        raise MbsError(f"channel '{joint}': '{mechanism.name}' has no output '{name}'{suggest(name, mechanism.outputs)}")
    if given['ratio'] == 1.0:
        return name
    scaled = f'local.{joint}.{key}'
    if scaled not in mechanism.outputs:
        mechanism.output(scaled, given['ratio'] ** 2 * mechanism.outputs[name][0], '1', f'{key.capitalize()} in the units of the joint')
    return scaled


def stiffness_of(state, coordinate, q) -> float:
    """Return by how much the effort of a driven coordinate changes with it at q, at rest, by central differences."""
    efforts = []
    c = state.model.mechanism.coordinate_of(coordinate)
    for at in (q - STEP, q + STEP):
        state.drive(c.name, at)
        state.assemble()
        if state.forward() != 0:
            raise MbsError(f"the model '{state.model.name}' can't be evaluated at {c.name} = {at:g}: a loop stays open")
        efforts.append(float(state.eff[c.driven]))
    return (efforts[1] - efforts[0]) / (2 * STEP)


def passivity_of(get) -> tuple:
    """Return the declared damping of the device's joint and the latency of the loop; a damping of 0 declares nothing."""
    damping, latency = get('passivity.damping', 0.0), get('passivity.latency', 0.002)
    for name, value, most in (('damping', damping, 1e6), ('latency', latency, 1.0)):
        if not 0 <= value <= most:
            raise MbsError(f"the parameter 'passivity.{name}' must be from 0 to {most:g}, not {value:g}")
    return damping, latency


def check_passivity(settings, state, positions, device_damping, latency):
    """Refuse a model that is stiffer at the measured pose than the declared damping of the device can hold.

    A slope that is sent with the set-point is rendered by the device's own, quicker loop.
    """
    for channel, q in zip(settings.channels, positions):
        if channel.mode == IMPEDANCE:
            k = channel.ratio ** 2 * stiffness_of(state, channel.coordinate, channel.ratio * q)
            local = bool(channel.stiffness_output)
            check_stiffness(max(k, 0.0), device_damping, LOCAL_PERIOD if local else settings.step, 0.0 if local else latency,
                            what=f"the model at the joint '{channel.joint}'")
