"""Computed torque in task space (000 eq. 11-14): the paper's two laws as written, and the blended one that is used.

All functions return the acceleration r1'' that is asked for; F1 = m_r r1'' + Q_r. Numbers, arrays or expressions.

Law (13) divides by J_theta, which is zero on the straight part of the cam and at its end, just where the rotation
begins: if friction stops the lift short of the junction, (13) can do nothing and the lid never tilts. The blended law
has one task coordinate for the whole stroke, z = h_o + rho theta_o, with J_z = J_h + rho J_theta. On the straight part
theta_o = 0 and it *is* law (11); on the second arc h_o is constant and it *is* law (13); between them J_z never vanishes.
"""

from mbs_core.control.generic import absolute, select

NO_AUTHORITY = 1e-6          # rad/m: a J_theta below this is zero


def pd(wanted, measured, kp, kd):
    """Return W of (12) and (14): wanted = (x, x', x''), measured = (x, x')."""
    x, rate, acceleration = wanted
    return acceleration + kd * (rate - measured[1]) + kp * (x - measured[0])


def task_acceleration(w, jacobian, drift):
    """Return r1'' = J^-1 (W - J' r1'): the bracket of (11) and (13); `drift` is J' r1'."""
    return (w - drift) / jacobian


def literal(lifting, wanted_h, wanted_theta, h, theta, kp, kd):
    """Return r1'' of the paper's laws as written: (11) while `lifting` (a comparison), then (13).

    h, theta: (value, rate, J, J' r1'). Where J_theta is zero (13) has no value; it then asks for nothing.
    """
    a_h = task_acceleration(pd(wanted_h, h[:2], kp, kd), h[2], h[3]) if h is not None else 0.0
    safe = select(absolute(theta[2]) > NO_AUTHORITY, theta[2], 1.0)
    a_theta = select(absolute(theta[2]) > NO_AUTHORITY,
                     task_acceleration(pd(wanted_theta, theta[:2], kp, kd), safe, theta[3]), 0.0)
    return select(lifting, a_h, a_theta)


def blended(wanted_z, z, kp, kd):
    """Return r1'' of the blended law; z: (value, rate, J_z, J_z' r1')."""
    return task_acceleration(pd(wanted_z, z[:2], kp, kd), z[2], z[3])
