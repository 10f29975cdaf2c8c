"""The lid hinge's claims of 000, through the whole stack: opening and closing with a plant that is 10 % off, and the tables."""

import numpy as np

from mbs_core.control.lid_map import lid_map, table_errors
from mbs_core.mechanisms import lid_hinge
from mbs_haptics.validate.claims import Claim

TITLE = 'The lid hinge'
INTRODUCTION = '''Dynamic modelling and control of a luxury arts and crafts product (Porez and Ferré, 2022), on a geometry of our own: the
paper's lengths are confidential. Both nodes, the firmware and its simulated screws run in real time and are recorded.'''
TOPICS = ('model_outputs', 'joint_states', 'truth')
OFF = {'lid_mass': 1.32, 'rotor_mass': 1.8, 'coulomb': 2.5, 'stiction': 3.2, 'viscous': 30.0, 'strength': 0.97}
OPEN = np.radians(100.0)


def stage(folder, quick, domain, progress):
    """Open and close the lid once, the plant off by 10 %; return the recording."""
    from std_srvs.srv import Trigger

    from mbs_haptics.validate.bench import Bench
    with Bench('lid_hinge', folder, signals=('position', 'position1', 'force', 'force1'), domain=domain) as bench:
        bench.plant(**OFF)
        bench.wait(0.5)
        for name, service, seconds in (('opening', 'open', 4.2), ('closing', 'close', 4.8)):
            progress(name)
            bench.scene(name)
            bench.talk.call(Trigger, f'{bench.watch.space}/lid/{service}', Trigger.Request())
            bench.wait(seconds)
        bench.scene('end', 0.2)
    return bench.bag


def judge(recorded):
    """Return the claims H1 to H4 and H6, from the recording and from the model."""
    poses = lid_hinge.stroke()
    return [_h1(poses), _h2(poses), _h3(recorded), _h4(recorded), _h6()]


def _h1(poses):
    claim = Claim('H1', 'Ten joints, nine constraints, one degree of freedom', 'B is 9 x 10 of rank 9; H = ker B')
    claim.measure('rank', int(np.linalg.matrix_rank(poses.B).min()), '1', '==9', 'lowest over the whole stroke')
    claim.measure('kernel', float(np.abs(np.einsum('pij,pj->pi', poses.B, poses.kernel)).max()), 'm', '<1e-9', 'largest |B H|')
    claim.saw = 'The rank is 9 at every pose of the stroke.'
    return claim


def _h2(poses):
    claim = Claim('H2', 'Geometric and kinematic models', 'Fig. 6: double slider during the lift, slider-crank during the rotation')
    p, kernel = lid_hinge.lengths(), poses.kernel
    _, J_theta = lid_hinge.rates(p, *(poses.q[:, k] for k in (1, 2, 3, 5)), poses.theta_c)
    claim.measure('tilt_rate', float(np.abs(J_theta + kernel[:, 1] + kernel[:, 3]).max()), 'rad/m', '<1e-9', 'closed form against H = ker B')
    claim.measure('tilt_rate_in_lift', float(np.abs(J_theta[poses.piece == 0]).max()), 'rad/m', '<1e-9', 'no rotation on D1')
    claim.saw = 'The lid rises without turning, then turns at a constant height.'
    table = lid_map(1025)
    r1 = np.linspace(table.first, table.last, 1025)
    figure, axes = _axes(2, 2)
    for axis, (name, scale, word) in zip(axes.ravel(), (('h', 1e3, 'h_o, mm'), ('theta', 180 / np.pi, 'theta_o, deg'), ('J_h', 1, 'J_h'),
                                                        ('J_theta', 1, 'J_theta, rad/m'))):
        axis.plot(1e3 * r1, scale * table.at(r1)[name])
        axis.set(xlabel='r1, mm', ylabel=word)
    claim.draw(figure, 'Fig. 6: geometric models above, kinematic models below.')
    return claim


def _h3(recorded):
    claim = Claim('H3', 'Computed torque in task space', 'Tilt error below 6 %; T_t = 1 s, T_b = 1 s, T_r = 1.5 s')
    table = lid_map()
    for name in ('opening', 'closing'):
        scene = recorded.scene(name)
        if scene is None:
            claim.lacks(f'{name}_tilt_error', f"the scene '{name}' is not recorded")
            continue
        out, truth = recorded.part('model_outputs', scene), recorded.part('truth', scene)
        tilt = table.at(0.5 * (truth['position'] + truth['position1']))['theta']
        error = np.interp(out.t, truth.t, tilt) - out['theta_wanted']
        claim.measure(f'{name}_tilt_error', float(100 * np.abs(error).max() / OPEN), '%', '<6', "the plant's own tilt, masses 10 % off")
    claim.saw = 'With 10 % model error, friction, backlash and noise the tilt follows far below the paper\'s bound.'
    return claim


def _h4(recorded):
    claim = Claim('H4', 'Force of the actuator', 'Fig. 9 and 10: the part of the model carries most of F_1')
    figure, axes = _axes(2, 1)
    for axis, name in zip(axes.ravel(), ('opening', 'closing')):
        scene = recorded.scene(name)
        if scene is None:
            claim.lacks(f'{name}_feedback', f"the scene '{name}' is not recorded")
            continue
        out = recorded.part('model_outputs', scene)
        share = np.sqrt(np.mean(out['F1c'] ** 2) / np.mean(out['F1m'] ** 2))
        claim.measure(f'{name}_feedback', float(100 * share), '%', '<25', 'feedback over model part, rms')
        for signal in ('F1', 'F1m', 'F1c'):
            axis.plot(out.t - out.t[0], out[signal], label=signal)
        axis.set(xlabel=f'{name}: t, s', ylabel='N')
        axis.legend()
    claim.saw = 'The model carries the lid; the feedback corrects.'
    claim.draw(figure, 'Fig. 9 and 10: force of both rods while the lid opens (above) and closes.')
    return claim


def _h6():
    claim = Claim('H6', 'Look-up tables for the product', 'numerical forms like look-up tables of these geometric models are used')
    for rows in (65, 257, 1025):
        errors = table_errors(rows)
        claim.measure(f'height_{rows}_rows', 1e6 * errors['h'], 'um', '<100')
        claim.measure(f'tilt_{rows}_rows', float(np.degrees(errors['theta'])), 'deg', '<0.1')
    claim.saw = 'Linear interpolation; the error falls with the square of the rows.'
    return claim


def _axes(rows, columns):
    from matplotlib import pyplot as plt
    return plt.subplots(rows, columns, figsize=(8, 5), constrained_layout=True)
