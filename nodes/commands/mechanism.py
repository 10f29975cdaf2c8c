"""`haptic mechanism`: list the mechanisms, or show one: its tree, loops, partition, costs and parameters."""

from mbs_core import mechanisms
from mbs_core.errors import MbsError
from mbs_haptics.chosen import add_mechanism_arguments, chosen_mechanism

HELP = 'List the mechanisms, or show one: tree, loops, partition, costs, parameters.'
NAMED = 25          # bodies up to which a drawing carries their names


def add_arguments(parser):
    """Add list and show."""
    actions = parser.add_subparsers(dest='action', required=True, metavar='list|show')
    actions.add_parser('list', help='list the mechanisms')
    show = actions.add_parser('show', help='show one mechanism')
    add_mechanism_arguments(show)
    show.add_argument('--draw', metavar='FILE.png', help='draw the skeleton at the start pose')


def run(args):
    """List or show, and return the exit code."""
    from rich.console import Console
    console = Console()
    if args.action == 'list':
        console.print(listing())
        return 0
    mechanism = chosen_mechanism(args)
    if args.draw:
        from mbs_haptics.plots import writable
        writable(args.draw, '.png')
    show(console, args.mechanism, mechanism)
    if args.draw:
        print(draw(mechanism, args.draw))
    return 0


def table(title, *headings):
    """Return an empty table; a heading that starts with > is a column of numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    t = Table(title=title, title_justify='left', box=SIMPLE_HEAD, title_style='bold')
    for n, h in enumerate(headings):
        t.add_column(h.lstrip('>'), justify='right' if h.startswith('>') else 'left', overflow='fold', no_wrap=n == 0)
    return t


def listing():
    """Return the table of all mechanisms."""
    t = table('Mechanisms', 'name', '>bodies', '>coordinates', '>loop equations', 'what it is')
    for name in mechanisms.catalogue():
        m = mechanisms.build(name)
        t.add_row(name, str(len(m.bodies) - 1), str(len(m.coordinates)), str(sum(one.size for one in m.loops)), m.doc)
    return t


def show(console, name, mechanism):
    """Print everything worth knowing about a mechanism."""
    console.print(f'[bold]{mechanism.name}[/bold]  {mechanism.doc}')
    for option, (default, choices) in mechanisms.options(name).items():
        console.print(f'  --variant {option}={"|".join(map(str, choices)).lower() if choices else default or "..."}')
    console.print(body_tree(mechanism))
    if mechanism.loops:
        t = table('Loops', 'name', 'kind', '>equations', 'bodies')
        for loop in mechanism.loops:
            t.add_row(loop.name, loop.kind, str(loop.size), ', '.join(dict.fromkeys(loop.bodies())))
        console.print(t)
    from mbs_core.runtime import compile_model
    for t in engine_tables(compile_model(mechanism)):
        console.print(t)
    for title, entries in (('Inputs', mechanism.inputs), ('Outputs', mechanism.outputs)):
        if entries:
            t = table(title, 'name', 'unit', 'what it is')
            for name, e in entries.items():
                t.add_row(name, *((e.unit, e.doc) if title == 'Inputs' else e[1:]))
            console.print(t)
    if mechanism.parameters:
        t = table('Parameters', 'name', '>default', '>lowest', '>highest', 'unit', 'what it is')
        for p in mechanism.parameters.values():
            t.add_row(p.name, f'{p.default:g}', f'{p.low:g}', f'{p.high:g}', p.unit, p.doc)
        console.print(t)


def body_tree(mechanism):
    """Return the tree of bodies with their joints."""
    from rich.tree import Tree
    root = Tree('ground')
    branch = {mechanism.ground: root}
    for body in mechanism.bodies.values():
        if body is mechanism.ground:
            continue
        axis = ''
        if body.joint.kind in ('revolute', 'prismatic'):
            axis = ' ' + ({(1, 0, 0): 'x', (0, 1, 0): 'y', (0, 0, 1): 'z'}.get(body.joint.axis) or
                          '(' + ', '.join(f'{c:.3g}' for c in body.joint.axis) + ')')
        driven = ', driven' if any(c.driven >= 0 for c in body.coordinates) else ''
        branch[body] = branch[body.parent].add(f'[bold]{body.name}[/bold]  {body.joint.kind}{axis}{driven}')
    return root


def engine_tables(model) -> list:
    """Return the tables of what the engine made of a mechanism."""
    report = model.report
    tables = []
    if model.mechanism.loops:
        t = table('Coordinate partitions (001 eq. 5)', 'independent u', 'solved in this order: loop, for its coordinates v',
                  '>cond(J_v) at start')
        for p, condition in zip(report.partitions, conditioning(model)):
            blocks = [f'{"/".join(dict.fromkeys(rows))}: {", ".join(columns)}' for rows, columns in p['blocks']]
            t.add_row(', '.join(p['independent']), '; '.join(blocks), f'{condition:.3g}')
        tables.append(t)
    t = table('Generated functions', 'function', '>operations', '>mul', '>add', '>div', '>sin, cos', '>path', '>width')
    t.caption = 'path: operations on the critical path; width: most that can run side by side (001 section 6)'
    for name, cost in report.costs.items():
        if isinstance(cost, int):                       # evaluated once per change of a parameter
            t.add_row(name, str(cost))
            continue
        kinds = [sum(cost.operations.get(kind, 0) for kind in group.split(', ')) for group in ('mul', 'add, sub', 'div', 'sin, cos')]
        t.add_row(name, str(cost.total), *map(str, kinds), str(cost.depth), str(cost.width))
    tables.append(t)
    for name, removal in report.removals.items():
        tables.append(f'{name}: {removal.useless} of {removal.equations} recursive equations useless and removed '
                      f'({100 * removal.share:.0f} %)')
    where = f'loaded from the cache in {report.load_s * 1e3:.3g} ms' if report.from_cache else 'new'
    tables.append(f'generation {report.generation_s * 1e3:.3g} ms, compilation {report.compile_s * 1e3:.3g} ms, {where}\n')
    return tables


def conditioning(model) -> list:
    """Return the condition number of J_v, the loops' Jacobian by the dependent coordinates, of each partition at the start."""
    import numpy as np
    state = model.state()
    _, j, _ = state.constraints()
    v = [[model.coordinates.index(name) for name in p['dependent']] for p in model.report.partitions]
    return [float(np.linalg.cond(j[:, columns])) for columns in v]


def draw(mechanism, path):
    """Draw the skeleton at the assembled start pose and return the path."""
    from mbs_core.runtime import compile_model
    from mbs_haptics.plots import skeleton
    from mbs_haptics.skeleton import skeleton_of
    state = compile_model(mechanism).state()
    state.assemble()
    found = skeleton_of(mechanism, state.q)
    if not found['bones']:
        raise MbsError(f"mechanism '{mechanism.name}' has no body to draw")
    names = found['bones'] if len(found['bones']) <= NAMED else ()
    return skeleton(path, names=names, title=f'{mechanism.name}: start pose', **found)
