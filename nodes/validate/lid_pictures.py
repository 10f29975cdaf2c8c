"""Pictures of the lid hinge for its report: the mechanism at the moments of fig. 8 of 000."""

import numpy as np

from mbs_core.mechanisms import build, lid_hinge

TILTS = (30.0, 45.0, 60.0)       # deg, of the snapshots between levitation and open


def snapshots(r1, t, poses):
    """Return the figure: six poses of a recorded opening r1(t), by the closed form of the stroke."""
    from matplotlib import pyplot as plt
    m, order = build('lid_hinge'), np.argsort(poses.r1)
    tilt = np.degrees(np.interp(r1, poses.r1[order], poses.theta_o[order]))
    height = np.interp(r1, poses.r1[order], poses.h_o[order])
    up = int(np.argmax(height > 0.99 * lid_hinge.lengths()['h1']))
    moments = [0, up, *(int(np.argmax(tilt > wanted)) for wanted in TILTS), len(r1) - 1]
    figure, axes = plt.subplots(2, 3, figsize=(9, 6), constrained_layout=True, sharex=True, sharey=True)
    for number, (axis, k) in enumerate(zip(axes.ravel(), moments), 1):
        pose = int(np.argmin(np.abs(poses.r1 - r1[k])))
        draw_pose(axis, m, poses, pose)
        axis.set_title(f'{number}) t = {t[k]:.2f} s, {tilt[k]:.0f} deg, {1e3 * height[k]:.1f} mm', fontsize=9)
        axis.set_aspect('equal')
    for axis in axes[1]:
        axis.set_xlabel('x, mm')
    return figure


def draw_pose(axis, m, poses, k):
    """Draw the hinge at pose k of the stroke: bones, joints, cam and the lid."""
    from mbs_haptics.skeleton import skeleton_of
    shape = skeleton_of(m, [*poses.q[k], poses.s[k]])
    if shape['curve']:
        axis.plot(*1e3 * np.array(shape['curve']).T[:2], color='0.75', linewidth=4)
    for name, bone in shape['bones'].items():
        if name != 'r9':                     # the lid is drawn at its true length
            axis.plot(*1e3 * np.array(bone).T[:2], color='tab:blue', linewidth=1.2, marker='o', markersize=2.5)
    theta, p, g = poses.theta_o[k], lid_hinge.lengths(), lid_hinge.geometry(lid_hinge.lengths())
    angle = poses.q[k, [1, 3, 4, 6, 7, 8]].sum()                    # of B9, from r2, r4, r5, r7, r8, r9
    joint = np.array(shape['bones']['r9'][0][:2])
    centre = joint + np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ np.array(g['G'])
    half = 0.5 * p['l_o'] * np.array([-np.cos(theta), np.sin(theta)])
    axis.plot(*1e3 * np.array([centre - half, centre + half]).T, color='tab:red', linewidth=4, solid_capstyle='round')
