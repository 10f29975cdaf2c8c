"""Where a page gets its state from, and whom it asks: what a running stack and a simulation of our own have in common."""

from dataclasses import dataclass, field


@dataclass
class Frame:
    """One moment: all positions and rates of the mechanism in the order of q and v, and when."""

    t: float
    q: list
    v: dict
    effort: dict = field(default_factory=dict)      # of the driven coordinates, by name
    outputs: dict = field(default_factory=dict)     # of the model, by name; as many as it tells
    poses: dict = field(default_factory=dict)       # of the bodies, filled in by the scene


@dataclass(frozen=True)
class Knob:
    """A parameter that can be turned: value and range in its unit, a sentence, and whether it is refused while active."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    doc: str
    structural: bool = False


class Source:
    """A source of frames. `joints` are those whose force is felt; `histories` holds their last seconds.

    `knobs` and `rows` may be replaced at any time; `knobs_changed` says that the page has to look at them again.
    """

    switches = ()               # verbs that have a button
    only_shows = 'this page only shows'     # why `tell` moves nothing, where it does not

    def __init__(self):
        self.mechanism, self.frame, self.joints, self.histories = None, None, [], {}
        self.knobs, self.knobs_changed, self.rows = {}, False, []
        self.message = ('', False)      # what to tell the user, and whether it is bad news
        self.has_hand = False           # whether `tell` moves a simulated hand
        self.missed = 0                 # ticks that the loop missed so far, as far as is known

    def poll(self):
        """Take in what is new."""
        raise NotImplementedError

    def set(self, values, answer):
        """Ask for parameters {name: value}, all or none; answer(True, '') or answer(False, sentence) is called when decided."""
        raise NotImplementedError

    def switch(self, verb, answer):
        """Ask for a switch; answer(success, sentence) is called."""
        raise NotImplementedError

    def watch(self, on):
        """Take note of whether anybody looks: while nobody does, nothing fast needs to be listened to."""

    def request(self, service, answer):
        """Call a service (Trigger) of another node of the stack, as 'lid/open'; answer(success, sentence) is called."""
        answer(False, f"'{service}' needs a running stack")

    def tell(self, values):
        """Move the hand that holds a simulated device: {name of the plant: value}. Real devices have hands of their own."""

    def close(self):
        """End."""
