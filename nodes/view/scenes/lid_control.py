"""The lid with its controller, as the stack runs it: the hinge's scene with buttons that call the services of the node `lid`."""

from mbs_haptics.view.scenes import lid_hinge

BUTTONS = {'Open': 'open', 'Close': 'close', 'Stop': 'hold'}


class View(lid_hinge.View):
    """Lid, rods, and its switches."""

    curve = ('stroke', 'mm', 1e3)
    force = ('force of the left rod', 'N', -1.0)

    def controls(self, page):
        """Add open, close and stop."""
        page.server.gui.add_button_group('Lid', list(BUTTONS), hint='Open: lift, then turn. Stop: hold where it is; a request goes on from there.').on_click(
            lambda event: page.wishes.append(('request', f'lid/{BUTTONS[event.target.value]}')))

    def group(self, name):
        """Return the folder: the controller's numbers, and the lengths."""
        return 'Control' if name.startswith('control.') or name in ('command', 'assist', 'carried', 'm_1', 'm_o') else 'Lengths'
