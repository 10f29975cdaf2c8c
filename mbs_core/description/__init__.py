"""The words a user writes a mechanism in: bodies, joints, loops, cams, force laws, parameters."""

from mbs_core.description.curves import Curve, arc, segment, spline
from mbs_core.description.edges import edge_contact
from mbs_core.description.joints import fixed, free, prismatic, revolute, spherical
from mbs_core.description.laws import (contact, damper, effort, felt, friction, link, lugre, spring)
from mbs_core.description.mechanism import Mechanism

__all__ = ['Curve', 'Mechanism', 'arc', 'contact', 'damper', 'edge_contact', 'effort', 'felt', 'fixed', 'free', 'friction',
           'link', 'lugre', 'prismatic', 'revolute', 'segment', 'spherical', 'spline', 'spring']
