"""Sensors and actuators of the devices: one small class each, counts to SI and back, with its calibration.

Nothing here knows a clock, a link or ROS. A transducer is a frozen dataclass, made from and turned into a plain dict
(what a YAML file holds); a sensor's `fit` takes readings beside a reference and returns a calibrated copy with the
residuals, so that `haptic calibrate` can say how good it is.
"""

from mbs_core.transducers.base import Fit, Sensor, Transducer, from_dict, kinds
from mbs_core.transducers.coil import Coil
from mbs_core.transducers.dc_motor import BallScrew, Belt, DcMotor, Gear
from mbs_core.transducers.encoder import AbsoluteEncoder, Encoder, unwrap
from mbs_core.transducers.hall_pair import HallPair
from mbs_core.transducers.imu import Accelerometer, Gyroscope, Inclinometer
from mbs_core.transducers.potentiometer import Potentiometer
from mbs_core.transducers.strain_gauge import StrainGauge
from mbs_core.transducers.voice_coil import VoiceCoil

__all__ = ['AbsoluteEncoder', 'Accelerometer', 'BallScrew', 'Belt', 'Coil', 'DcMotor', 'Encoder', 'Fit', 'Gear', 'Gyroscope',
           'HallPair', 'Inclinometer', 'Potentiometer', 'Sensor', 'StrainGauge', 'Transducer', 'VoiceCoil', 'from_dict',
           'kinds', 'unwrap']
