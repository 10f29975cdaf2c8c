"""Closed mechanisms: forward dynamics with loops, and how well each engine keeps the loops closed."""

import numpy as np

from mbs_core.runtime import compile_model
from mbs_haptics.bench import models, ours, timing

# name: (mechanism, loops that are welds in the peers, joint springs)
CASES = {'five_bar': (models.five_bar, (), {}), 'hinge': (models.hinge, models.WELDED, models.SPRINGS)}
SECONDS = 5.0
STEP = 1e-3
GAINS = (0.0, 20.0, 100.0, 400.0)       # 1/s: Pinocchio's stabilisation is given the best of these


def measure(figures, rounds, say, quick=False):
    """Add the figures of every closed mechanism."""
    from mbs_haptics.bench import pinocchio_peer
    from mbs_haptics.bench.mujoco_peer import MujocoPeer
    for name, (make, welded, springs) in CASES.items():
        say(f'closed mechanism: {name}')
        mechanism = make()
        model = compile_model(mechanism)
        s = model.state()
        s.assemble()
        q, v = s.q.copy(), s.v.copy()
        mechanism.positions[:] = q              # the peers weld at the closed pose
        peer = pinocchio_peer.PinocchioPeer(mechanism, welded, springs)
        other = MujocoPeer(mechanism, welded, springs, STEP)
        other.set(q, v)
        difference = _difference(s, peer, q, v)
        static = ours.looped(model.unit, 'forward', q=q, v=v, par=ours.parameters(model))
        t = timing.interleaved({'ours': ours.stepping(s, STEP), 'static': static, 'pinocchio': peer.closed(q, v),
                                'empty': pinocchio_peer.empty_closed(), 'mujoco': other.closed()}, rounds)
        t['pinocchio'] = max(t['pinocchio'] - t['empty'], 1e-9)
        steps = round((SECONDS if not quick else 0.05) / STEP)
        errors = _errors(model, peer, other, q, v, steps)
        _add(figures, f'constrained.{name}', t, errors, difference, steps)


def _difference(s, peer, q, v) -> float:
    """Return how far our accelerations are from Pinocchio's at the start, relative."""
    s.forward()
    expected = peer.acceleration(peer.order(q), peer.order(v))
    return float(np.abs(peer.order(s.vd) - expected).max() / np.abs(expected).max())


def _errors(model, peer, other, q, v, steps) -> dict:
    """Return the largest gap of the loops (m) over a simulated run of each engine, all with RK4 at 1 ms."""
    s = model.state()
    s.q[:], s.v[:] = q, v
    worst = 0.0
    for _ in range(steps):
        s.step(STEP)
        worst = max(worst, s.residuals()[0])
    found = []
    for gain in GAINS:
        peer.stabilise(gain)
        found.append(peer.simulate(q, v, STEP, steps))
    return {'ours': worst, 'pinocchio': min(found), 'mujoco': other.simulate(q, v, steps)}


def _add(figures, path, t, errors, difference, steps):
    figures.add(f'{path}.ours_ns', 1e9 * t['ours'], 'ns',
                note='one of the four evaluations of an RK4 step of a moving mechanism, everything included')
    figures.add(f'{path}.ours_static_ns', 1e9 * t['static'], 'ns', note='the same state again and again: one Newton step')
    figures.add(f'{path}.pinocchio_ns', 1e9 * t['pinocchio'], 'ns',
                note='constraintDynamics from Python minus the same call on one joint without loops')
    figures.add(f'{path}.mujoco_ns', 1e9 * t['mujoco'], 'ns', note='mj_forward in a native loop, equality constraints')
    peers = min(t['pinocchio'], t['mujoco'])
    figures.add(f'{path}.speedup', peers / t['ours'], 'x', '>=14', 'the faster of Pinocchio and MuJoCo / ours')
    figures.add(f'{path}.speedup_static', peers / t['static'], 'x', note='against one evaluation at a fixed state, as the peers are timed')
    for name, error in errors.items():
        note = f'largest gap in {steps} steps of RK4 at 1 ms'
        if name == 'pinocchio':
            note += f', with the best of the stabilisation gains {", ".join(map(str, GAINS))} 1/s'
        figures.add(f'{path}.{name}_loop_error', error, 'm', note=note)
    mine = max(errors['ours'], 1e-17)
    for name in ('pinocchio', 'mujoco'):
        figures.add(f'{path}.loop_error_ratio_{name}', errors[name] / mine, 'x', note=f'{name} / ours')
    best = min(('pinocchio', 'mujoco'), key=errors.get)
    figures.add(f'{path}.loop_error_ratio', errors[best] / mine, 'x', '>=1e6', f'the better of the peers, {best} / ours')
    figures.add(f'{path}.difference', difference, '1', '<1e-4', 'accelerations against Pinocchio, whose proximal term softens its loops')
