"""Services asked without waiting: a call is sent, looked after at every poll, repeated when its reply got lost."""

import time

REPLIES = (0.5, 1.0, 2.0)       # s until a reply must be there, for each try; all that is asked for here may be asked twice


class Calls:
    """Calls under way from a node; `poll` is to be called often, from the thread that spins the node."""

    def __init__(self, node, clock=time.monotonic):
        self.node, self.clock, self.clients, self.pending = node, clock, {}, []

    def ask(self, kind, name, request, done):
        """Call a service; done(response) is called later, done(None) if nobody answers."""
        if name not in self.clients:
            self.clients[name] = self.node.create_client(kind, name)
        self.pending.append([name, request, done, None, 0.0, 0])

    def poll(self):
        """Deliver replies, send again what got lost, give up what nobody answers."""
        now = self.clock()
        for call in list(self.pending):
            name, request, done, future, due, tries = call
            if future is not None and future.done():
                self.pending.remove(call)
                done(future.result())
            elif future is None and tries == 0 and not self.clients[name].service_is_ready():
                call[4] = due or now + REPLIES[-1]          # discovery may take a moment
                if due and now > due:
                    self.pending.remove(call)
                    done(None)
            elif future is None or now > due:
                if future is not None:
                    self.clients[name].remove_pending_request(future)
                if tries == len(REPLIES):
                    self.pending.remove(call)
                    done(None)
                    continue
                call[3:] = [self.clients[name].call_async(request), now + REPLIES[tries], tries + 1]
