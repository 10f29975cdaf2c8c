"""The equations of a mechanism as stores into the model's memory: what the back ends print.

Every method returns [(array, index, expression)] for one straight-line function; see `layout` for the arrays.
"""

from mbs_core.errors import MbsError
from mbs_core.formalism import articulated, composite, reduction
from mbs_core.formalism import newton_euler as ne
from mbs_core.formalism import vectors as ve
from mbs_core.formalism.forces import all_wrenches, generalized_forces
from mbs_core.formalism.inertia import own_moments, regrouped_moments
from mbs_core.formalism.kinematics import quaternion_rate
from mbs_core.symbolic import absolute, maximum, minimum, needed, sqrt, substitute
from mbs_core.symbolic.analysis import cost, removal
from mbs_core.symbolic.expr import Expr, is_zero

RESIDUAL, QUALITY, PARTITION, ITERATIONS, SWITCHES, STATUS = range(6)
INFO = 8                                       # size of the array 'info'
LATE = ('vd', 'eff', 'lam', 'reaction')        # results: for outputs only
SMALL_TREE = 12                                # up to here the mass matrix may beat articulated bodies


class Equations:
    """All equations of one mechanism, written once and shared by every function that needs them."""

    def __init__(self, mechanism):
        self.m = m = mechanism
        self._check()
        self.efforts, self.wrenches = generalized_forces(m)
        self.rows = [row for loop in m.loops for row in loop.rows()]
        self.groups = _groups(self.rows)
        self._trees = {}
        self.removals = {}

    def _check(self):
        m = self.m
        if not any(not c.massless for c in m.coordinates):
            raise MbsError(f"mechanism '{m.name}' has nothing that moves: add a body on a joint")
        for name, (_, _, rate) in m.states.items():
            if rate is None:
                raise MbsError(f"state '{name}' of '{m.name}' has no rate: give it with derivative()")
        bound = {c for loop in m.loops for row in loop.rows() for c in row.jacobian}
        for c in m.coordinates:
            if c.massless and c not in bound:
                raise articulated.no_inertia(c)
        self._check_laws()

    def _check_laws(self):
        """Refuse laws that use what is known only after the motion is solved."""
        m = self.m
        laws = [(n, [e]) for n, _, e in m.efforts] + [(w[0], [*w[2], *w[3]]) for w in m.wrenches]
        laws += [(n, [f, d]) for n, f, d in m.works] + [(n, [s[2]]) for n, s in m.states.items()]
        for name, values in laws:
            for e in needed([v for v in values if isinstance(v, Expr)]):
                if e.op == 'sym' and e.data[1] in LATE:
                    raise MbsError(f"the law '{name}' of '{m.name}' uses '{e.data[0]}', which is known only after the motion is "
                                   'solved: use positions, rates, states and inputs, or make it an output')

    def tree(self, grouped=True):
        """Return the tree with regrouped or plain inertias."""
        if grouped not in self._trees:
            moments = regrouped_moments(self.m) if grouped else own_moments(self.m)
            self._trees[grouped] = ne.make_tree(self.m, moments, self.wrenches, moved=grouped)
        return self._trees[grouped]

    # -- trees -----------------------------------------------------------------------------------
    def inverse(self):
        """Inverse dynamics of the tree, 001 eq. 2: 'Q' from q, v, vd; forces of all laws included."""
        tree = self.tree()
        tree.equations = []
        phi = ne.inverse_dynamics(tree, {c: c.vd for c in self.m.coordinates}, self.m.gravity)
        own = self._law_efforts()
        stores = [('Q', c.index, phi.get(c, 0.0) - own.get(c, 0.0)) for c in self.m.coordinates]
        self.removals['inverse'] = removal(tree.equations, [s[2] for s in stores])
        return stores

    def _law_efforts(self):
        return generalized_forces(self.m, applied=False)[0]

    def bias(self):
        """The bias c of 001 eq. 1: 'c' with M vd + c = tau."""
        phi = ne.inverse_dynamics(self.tree(), {}, self.m.gravity)
        own = self._law_efforts()
        return [('c', c.index, phi.get(c, 0.0) - own.get(c, 0.0)) for c in self.m.coordinates]

    def mass(self):
        """The mass matrix of 001 eq. 1: 'M', row by row."""
        n = len(self.m.coordinates)
        matrix = composite.mass_matrix(self.tree())
        stores = []
        for a in self.m.coordinates:
            for b in self.m.coordinates[:a.index + 1]:
                value = matrix.get((a, b), 0.0)
                stores.append(('M', a.index * n + b.index, value))
                if a is not b:
                    stores.append(('M', b.index * n + a.index, value))
        return stores

    def mass_parts(self):
        """What the rolled mass matrix is made of: 'S' and 'F', six rows of n numbers each (see `ground_screws`)."""
        n, stores = len(self.m.coordinates), []
        for c, motion, wrench in composite.ground_screws(self.tree()):
            stores += [('S', k * n + c.index, e) for k, e in enumerate(motion)]
            stores += [('F', k * n + c.index, e) for k, e in enumerate(wrench)]
        return stores

    def ancestors(self):
        """Return for every coordinate the runs [first, beyond) of coordinate numbers it shares a path with, up to itself."""
        out = []
        for c in self.m.coordinates:
            body, found = c.body, set()
            while body is not None:
                found |= {d.index for d in body.coordinates}
                body = body.parent
            found = sorted(found)
            runs = []
            for i in found:
                if runs and runs[-1][1] == i:
                    runs[-1][1] = i + 1
                else:
                    runs.append([i, i + 1])
            out.append(runs)
        return out

    # -- loops -----------------------------------------------------------------------------------
    def loops(self):
        """The loop equations: 'h', 'J' (row by row) and 'gamma' = J-dot q-dot (001 eq. 3)."""
        n, stores = len(self.m.coordinates), []
        for i, row in enumerate(self.rows):
            stores += [('h', i, row.h), ('gamma', i, row.gamma)]
            stores += [('J', i * n + c.index, row.jacobian.get(c, 0.0)) for c in self.m.coordinates]
        return stores

    def newton(self, rows, pivots):
        """One Newton step on h = 0 for the dependent coordinates; the residual before it goes to 'info'."""
        _, elimination = reduction.partition(self.m, rows, pivots)
        step = elimination.solve([r.h for r in rows])
        stores, balls = [], {}
        for c, d in step.items():
            if c.q is not None:
                stores.append(('q', c.position, c.q - d))
            else:
                balls.setdefault(c.body, [0.0, 0.0, 0.0])[c.body.coordinates.index(c)] = -d
        for body, turn in balls.items():
            moved = [a + b for a, b in zip(body.quaternion, quaternion_rate(body.quaternion, turn))]
            scale = 1.0 / sqrt(sum((a * a for a in moved[1:]), moved[0] * moved[0]))
            stores += [('q', body.coordinates[0].position + k, scale * a) for k, a in enumerate(moved)]
        return stores + [('info', RESIDUAL, _largest([r.h for r in rows]))]

    def quality(self, rows, pivots, reference):
        """How far a partition is from singular: the smallest block determinant relative to its usual size."""
        if not rows:
            return 1.0
        _, elimination = reduction.partition(self.m, rows, pivots)
        return _smallest([absolute(d) * (1.0 / r) for d, r in zip(elimination.determinants, reference)])

    def forward(self, rows, pivots, reference, name='forward'):
        """The direct function of 001 eq. 16 after the position solution: v (dependent), vd, zd, efforts, residual."""
        m = self.m
        if rows:
            accelerations, driven, dependent, equations = self._closed(rows, pivots)
        else:
            accelerations, driven, equations = self._open()
            dependent = {}
        stores = [('v', c.index, e) for c, e in dependent.items()]
        stores += [('vd', c.index, accelerations.get(c, 0.0)) for c in m.coordinates if c.driven < 0]
        stores += [('eff', c.driven, e) for c, e in driven.items()]
        stores += [('zd', k, rate) for k, (_, _, rate) in enumerate(m.states.values())]
        if dependent:
            moved = substitute([*(s[2] for s in stores), *equations], {c.v: e for c, e in dependent.items()})
            stores = [(a, i, e) for (a, i, _), e in zip(stores, moved)]
            equations = moved[len(stores):]
        if rows:
            stores.append(('info', RESIDUAL, _largest([r.h for r in rows])))
            stores.append(('info', QUALITY, self.quality(rows, pivots, reference)))
        self.removals[name] = removal(equations, [s[2] for s in stores])
        return stores

    def _closed(self, rows, pivots):
        r = reduction.reduce(self.m, rows, pivots, (self.tree(), self.tree(False)), self.efforts)
        accelerations, driven = reduction.solve(r)
        dependent = {c: sum((t * r.independent[k].v for k, t in r.shape.get(c, {}).items()), 0.0)    # locked ones stand still
                     for c in self.m.coordinates if c not in r.independent}
        return accelerations, driven, dependent, r.equations

    def _open(self):
        m, tree = self.m, self.tree()
        known = {c: c.vd for c in m.driven}
        options = []
        tree.equations = []
        fast = articulated.forward_dynamics(tree, known, self.efforts, m.gravity)
        effort = {}
        if known:
            phi = ne.inverse_dynamics(tree, fast, m.gravity)
            effort = {c: phi.get(c, 0.0) - self.efforts.get(c, 0.0) for c in known}
        options.append((fast, effort, tree.equations))
        if len(m.coordinates) <= SMALL_TREE:
            r = reduction.reduce(m, [], [], (tree, self.tree(False)), self.efforts)
            options.append((*reduction.solve(r), r.equations))
        if len(options) == 1:
            return options[0]
        return min(options, key=lambda o: cost([*o[0].values(), *o[1].values()]).total)

    def multipliers(self, rows, pivots):
        """Lagrange multipliers 'lam' with M vd + c = Q + J' lambda, from the motion already solved (001 eq. 3)."""
        m = self.m
        _, elimination = reduction.partition(m, rows, pivots)
        phi = ne.inverse_dynamics(self.tree(), {c: c.vd for c in m.coordinates}, m.gravity)
        missing = {c: phi.get(c, 0.0) - self.efforts.get(c, 0.0) for c in m.coordinates}
        values = elimination.solve_transposed({c: e for c, e in missing.items() if not is_zero(e)})
        place = {id(r): i for i, r in enumerate(self.rows)}
        stores = [('lam', i, 0.0) for i in range(len(self.rows))]
        for r, value in zip(rows, values):
            stores[place[id(r)]] = ('lam', place[id(r)], value)
        return stores

    # -- results ---------------------------------------------------------------------------------
    def rates(self):
        """Rates of q from v: 'qd' (differs from v for ball joints only)."""
        return [('qd', k, e) for k, e in enumerate(self.m.kinematics.position_rates())]

    def outputs(self):
        """The declared outputs 'out' and the energies 'energy' (kinetic, potential)."""
        stores = [('out', k, e) for k, (e, _, _) in enumerate(self.m.outputs.values())]
        kinetic, potential = self.m.energy()
        return stores + [('energy', 0, kinetic), ('energy', 1, potential)]

    def reactions(self, asked):
        """Joint reactions of the bodies asked for: 'reaction', from the motion and the multipliers."""
        m = self.m
        tree = ne.make_tree(m, own_moments(m), all_wrenches(m, self.wrenches, self._loop_wrenches()))
        _, totals = ne.backward(tree, ne.outward(tree, {c: c.vd for c in m.coordinates}, m.gravity))
        stores = []
        for body in asked:
            force, moment = totals[body]
            stores += [('reaction', 6 * (body.order - 1) + k, e) for k, e in enumerate((*force, *moment))]
        return stores

    def _loop_wrenches(self):
        """Return [(body, force, moment)] of the loop forces, from the symbols of the multipliers."""
        m, kin, out, first = self.m, self.m.kinematics, [], 0
        for loop in m.loops:
            lam = [m._late(f'lambda.{loop.name}.{k}', 'lam', first + k) for k in range(loop.size)]
            first += loop.size
            out += loop_wrenches(m, kin, loop, lam)
        return out


def loop_wrenches(m, kin, loop, lam):
    """Return [(body, force, moment about its origin)] in computing frames, of a loop's multipliers."""
    if not hasattr(loop, 'wrench'):
        raise MbsError(f"reactions can't be given: the loop '{loop.name}' ({loop.kind}) has no points of application")
    base, force, torque = loop.wrench(lam)
    out = []
    for point, sign in loop.sides():
        if point.body is m.ground:
            continue
        lift = ve.transpose(kin.frame_in(kin.link(point.body).frame, kin.link(base).frame))
        f, n = ve.scale(sign, ve.matvec(lift, force)), ve.scale(sign, ve.matvec(lift, torque))
        arm = ve.matvec(kin.link(point.body).attitude, point.offset)
        out.append((point.body, f, ve.add(n, ve.cross(arm, f))))
    return out


def _groups(rows):
    """Return row indices grouped by loop, translations and rotations apart, at most three together."""
    groups, current = [], []
    for i, row in enumerate(rows):
        if current and (rows[current[-1]].loop is not row.loop or len(current) == 3):
            groups.append(current)
            current = []
        current.append(i)
    return groups + ([current] if current else [])


def _largest(values):
    total = 0.0
    for v in values:
        if isinstance(v, Expr):
            total = absolute(v) if is_zero(total) else maximum(total, absolute(v))
    return total


def _smallest(values):
    total = None
    for v in values:
        total = v if total is None else minimum(total, v)
    return total
