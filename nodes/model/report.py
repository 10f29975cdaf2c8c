"""What rosbotran tells besides the set-point: model state (by the loop), wrench, markers and diagnostics (beside it)."""

import math

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, WrenchStamped
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from mbs_haptics.realtime import messages
from mbs_haptics.realtime.block import Outlet
from mbs_haptics.skeleton import skeleton_of

BONE, PIN = (0.16, 0.45, 0.75), (0.90, 0.55, 0.15)


def model_state_outlet(model, every):
    """Return the function block -> [Outlet] that lets the loop publish all coordinates of the model."""
    shown = [c for c in model.mechanism.coordinates if c.q is not None]

    def outlets(block):
        layout = messages.joint_state(messages.rclpy_codec(JointState), [c.name for c in shown])
        sources = {}
        for k, c in enumerate(shown):
            sources[f'position[{k}]'] = block.place('model.q', c.position)
            sources[f'velocity[{k}]'] = block.place('model.v', c.index)
            if c.driven >= 0:
                sources[f'effort[{k}]'] = block.place('model.eff', c.driven)
        return [Outlet(layout, sources, every)]
    return outlets


def outputs_outlet(model, names, every):
    """Return the function block -> [Outlet] that lets the loop publish outputs of the model, as positions of their names."""
    def outlets(block):
        layout = messages.joint_state(messages.rclpy_codec(JointState), names)
        return [Outlet(layout, {f'position[{k}]': block.place('model.out', model.outputs.index(name)) for k, name in enumerate(names)}, every)]
    return outlets


def wrench(loop, frame, stamp) -> WrenchStamped:
    """Return force and torque that the set-points ask for, as a hand on the driven bodies feels them."""
    message = WrenchStamped()
    message.header.frame_id, message.header.stamp = frame, stamp
    mechanism, forces = loop.model.mechanism, loop.block.view('set_f')
    for i, channel in enumerate(loop.settings.channels):
        c = mechanism.coordinate_of(channel.coordinate)
        joint = c.body.joint
        part = message.wrench.force if joint.kind == 'prismatic' else message.wrench.torque
        for name, share in zip('xyz', joint.axis):
            setattr(part, name, getattr(part, name) + share * float(forces[i]) / channel.ratio)
    return message


def markers(loop, frame, stamp) -> MarkerArray:
    """Return the mechanism as lines and pins at its present pose."""
    model, block = loop.model, loop.block
    q = block.state.q.tolist()
    names = list(model.parameters)
    parameters = dict(zip(names, block.state._par.tolist()))
    shape = skeleton_of(model.mechanism, q, parameters)
    points = [p for bone in shape['bones'].values() for p in bone]
    size = max([max(abs(c) for c in p) for p in points] + [1e-3])
    array = MarkerArray()
    for k, (name, bone) in enumerate(shape['bones'].items()):
        array.markers.append(_marker(frame, stamp, f'bones/{name}', k, Marker.LINE_STRIP, bone, 0.02 * size, BONE))
    pins = [p for kind in shape['pins'].values() for p in kind]
    array.markers.append(_marker(frame, stamp, 'pins', 0, Marker.SPHERE_LIST, pins, 0.04 * size, PIN))
    return array


def _marker(frame, stamp, space, number, kind, points, width, colour):
    m = Marker()
    m.header.frame_id, m.header.stamp = frame, stamp
    m.ns, m.id, m.type, m.action = space, number, kind, Marker.ADD
    m.pose.orientation.w = 1.0
    m.scale.x = m.scale.y = m.scale.z = width
    m.color.r, m.color.g, m.color.b, m.color.a = *colour, 1.0
    m.points = [Point(x=float(x), y=float(y), z=float(z)) for x, y, z in points]
    m.lifetime = Duration(sec=1)
    return m


def figures(loop) -> dict:
    """Return everything countable about a loop, as plain numbers and words."""
    out = loop.statistics()
    out['rate_hz'] = loop.settings.rate_hz
    x, offset = loop.snapshot(), loop.block.layout.offset      # each deadline was a tick or was skipped; all read at one time
    out.update((name, int(x[offset(name)])) for name in ('ticks', 'skipped', 'deadlines'))
    out['wake'] = loop.settings.wake
    out['parameters'] = {'batches': int(x[offset('taken')]), 'ticks_to_effect': int(x[offset('took')]), 'ticks_to_effect_max': int(x[offset('took_most')])}
    out['mechanism'] = loop.model.name
    for i, channel in enumerate(loop.settings.channels):
        out[f'joint.{channel.joint}'] = {name: float(loop.block.view(array)[i]) for name, array in (
            ('position', 'q'), ('velocity', 'v'), ('effort', 'set_f'), ('stiffness', 'set_k'), ('damping', 'set_b'),
            ('energy', 'energy'), ('heat', 'heat'))}
    out.update((f'input.{name}', value) for name, value in loop.inputs().items())
    out['notices'] = list(loop.notices)
    return finite(out)


def finite(value):
    """Return nested values with None for what JSON has no word for."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def flat(figures, prefix='') -> dict:
    """Return nested figures as one level, names joined by dots."""
    out = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            out.update(flat(value, f'{prefix}{name}.'))
        elif not isinstance(value, list):
            out[prefix + name] = value
    return out


def diagnostics(name, figures, measured_hz, stamp) -> DiagnosticArray:
    """Return the diagnostics of a loop: error in a fault, a warning where ticks were missed since the last report."""
    status = DiagnosticStatus(name=f'{name}: loop', hardware_id=figures['mechanism'])
    if figures['fault'] != 'none':
        status.level, status.message = DiagnosticStatus.ERROR, f"fault '{figures['fault']}': set-points are zero until reset and enable"
    elif measured_hz < 0.95 * figures['rate_hz']:
        status.level, status.message = DiagnosticStatus.WARN, f"{figures['state']}, {measured_hz:.0f} of {figures['rate_hz']:.0f} ticks/s"
    else:
        status.level, status.message = DiagnosticStatus.OK, figures['state']
    rows = {'measured_hz': round(measured_hz, 2), **flat(figures)}
    status.values = [KeyValue(key=k, value=f'{v:.6g}' if isinstance(v, float) else str(v)) for k, v in rows.items()]
    array = DiagnosticArray(status=[status])
    array.header.stamp = stamp
    return array
