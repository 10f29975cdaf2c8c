"""Short conversations with running nodes, for the verbs: find nodes and services, call them, and word what goes wrong.

A call fired right after its service appeared may lose the reply, so calls are repeated; everything asked for here
may be asked twice.
"""

import contextlib
import os
import time

from mbs_core.errors import MbsError, suggest
from mbs_haptics import environment

APPEAR = 3.0            # s until a node or service must have been found
REPLIES = (0.3, 0.5, 1.0, 2.0)      # s until a reply must be there, for each call; an answer takes some ms
PATIENCE = 0.3          # s to go on looking when a list looks complete, for nodes that are discovered late
STACK = ('rosbotran', 'roscom')     # the nodes that a switch of the force must reach


class Conversation:
    """A nameless node of our own that asks others."""

    def __init__(self, node, executor):
        """Keep the node and its executor."""
        self.node, self.executor = node, executor

    def nodes(self):
        """Return the full names of all nodes but our own."""
        return sorted({f'{space.rstrip("/")}/{name}' for name, space in self.node.get_node_names_and_namespaces()
                       if name != self.node.get_name() and not name.startswith('_')})

    def services(self, ending):
        """Return {service name: type} of the services whose name ends so."""
        return {name: kinds[0] for name, kinds in self.node.get_service_names_and_types() if name.endswith(ending)}

    def await_(self, found, appear=APPEAR):
        """Return what found() returns as soon as it is something, or None after `appear` seconds."""
        end = time.monotonic() + appear
        while True:
            result = found()
            if result or time.monotonic() > end:
                return result or None
            self.executor.spin_once(timeout_sec=0.02)

    def find_node(self, name):
        """Return the full name of a running node, or say which ones run."""
        full = name if name.startswith('/') else f'/{name}'
        if not self.await_(lambda: full in self.nodes()):
            running = self.nodes()
            raise MbsError(f"there is no node '{full}'{suggest(full, running)}" if running else
                           f"there is no node '{full}', nor any other; start the stack first, for example `haptic launch lever`")
        return full

    def call(self, kind, name, request):
        """Call a service and return its response; repeated when a reply gets lost."""
        client = self.node.create_client(kind, name)
        try:
            if not self.await_(client.service_is_ready):
                raise MbsError(f"there is no service '{name}'; is its node still running?")
            for patience in REPLIES:
                future = client.call_async(request)
                self.executor.spin_until_future_complete(future, timeout_sec=patience)
                if future.done():
                    return future.result()
                client.remove_pending_request(future)
            raise MbsError(f"the service '{name}' does not answer within {sum(REPLIES):g} s and {len(REPLIES)} calls; its node may be stopped or busy")
        finally:
            self.node.destroy_client(client)


@contextlib.contextmanager
def conversation():
    """Give a Conversation for the length of a with block."""
    environment.need_ros()
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    context = Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node(f'haptic_{os.getpid()}', context=context, start_parameter_services=False, enable_rosout=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        yield Conversation(node, executor)
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()


def switch(verb, on=True, namespace=''):
    """Call ~/<verb> of every node of the stack that has it, and print what each says; return the exit code.

    The services are std_srvs Trigger or SetBool; `on` is what a SetBool is told.
    """
    from std_srvs.srv import SetBool, Trigger
    kinds = {'std_srvs/srv/Trigger': Trigger, 'std_srvs/srv/SetBool': SetBool}
    begin = f"/{namespace.strip('/')}/" if namespace.strip('/') else '/'
    with conversation() as talk:
        def wanted():
            return {name: kind for name, kind in talk.services(f'/{verb}').items() if name.startswith(begin) and kind in kinds}
        if not talk.await_(wanted):
            raise MbsError(f"no running node has a service '{verb}'{' under ' + begin if begin != '/' else ''}; start the stack first")
        asked, good, end = set(), True, time.monotonic() + APPEAR
        while True:                 # at once those that are known, then those that are discovered a moment later
            for name, kind in sorted(wanted().items()):
                if name not in asked:
                    good &= ask(talk, name, kinds[kind], on)
                    asked.add(name)
            missing = partners(asked) - asked
            late = PATIENCE if not missing else end - time.monotonic()
            if not talk.await_(lambda: wanted().keys() - asked, late):
                break
        for name in sorted(missing):
            print(f'{name.rpartition("/")[0]}: not found, so only half of the stack was told; is it running?', flush=True)
        return 0 if good and not missing else 1


def partners(services) -> set:
    """Return the services of the same name that the stacks of these ought to have: rosbotran and roscom come together."""
    parts = [name.rsplit('/', 2) for name in services]
    return {f'{space}/{node}/{verb}' for space, known, verb in parts if known in STACK for node in STACK}


def ask(talk, name, kind, on):
    """Call one switch, print what its node says, and tell whether it agreed."""
    request = kind.Request(**({'data': on} if hasattr(kind.Request, 'data') else {}))
    try:
        answer = talk.call(kind, name, request)
        words, good = answer.message or ('done' if answer.success else 'refused without a reason'), answer.success
    except MbsError as error:       # an emergency stop goes on to the next node
        words, good = str(error), False
    print(f'{name.rpartition("/")[0]}: {words}', flush=True)
    return good


def add_namespace_argument(parser):
    """Add --namespace, which limits a verb to one of several stacks."""
    parser.add_argument('--namespace', default='', help='only nodes in this namespace (default: all)')
