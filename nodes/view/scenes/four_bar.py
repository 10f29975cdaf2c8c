"""The four-bar linkage as plain links; on the virtual device its crank hangs on the key-like lever that a finger presses."""

from mbs_haptics.view.scenes import links


class View(links.View):
    """Links, and a finger."""

    hand = ('finger, down', 'mm', 0.0, 10.0, 1e-3)
