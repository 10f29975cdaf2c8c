"""Units a parameter may be given in, with their factor to SI and their place in the order of 001 eq. 14."""

from mbs_core.errors import MbsError, suggest

# unit: (factor to SI, kind)
UNITS = {
    '1': (1.0, 'parameter'), '%': (0.01, 'parameter'),
    'kg': (1.0, 'mass'), 'g': (1e-3, 'mass'), 'kg m2': (1.0, 'mass'), 'g mm2': (1e-9, 'mass'), 'kg/m': (1.0, 'mass'),
    'kg/m3': (1.0, 'mass'),
    'm': (1.0, 'length'), 'mm': (1e-3, 'length'), 'm2': (1.0, 'length'), '1/m': (1.0, 'length'),
    'rad': (1.0, 'length'), 'deg': (0.017453292519943295, 'length'), 'rad/m': (1.0, 'length'), 'm/N': (1.0, 'length'),
    'N': (1.0, 'force'), 'N m': (1.0, 'force'), 'N mm': (1e-3, 'force'), 'V': (1.0, 'force'), 'A': (1.0, 'force'),
    'N/m': (1.0, 'force'), 'N/mm': (1e3, 'force'), 'N s/m': (1.0, 'force'), 'N m/rad': (1.0, 'force'),
    'N m s/rad': (1.0, 'force'), 'N/rad': (1.0, 'force'), 'N/m2': (1.0, 'force'), 'N/m^p': (1.0, 'force'),
    'N s/rad': (1.0, 'force'), 'N m/A': (1.0, 'force'), 'N/A': (1.0, 'force'), 'W': (1.0, 'force'), 'J': (1.0, 'force'),
    's': (1.0, 'parameter'), 'ms': (1e-3, 'parameter'), '1/s': (1.0, 'parameter'), 'Hz': (1.0, 'parameter'),
    'm/s': (1.0, 'parameter'), 'mm/s': (1e-3, 'parameter'), 'm/s2': (1.0, 'parameter'), 'rad/s': (1.0, 'parameter'),
    'rad/s2': (1.0, 'parameter'), 's/m': (1.0, 'parameter'), 'N m/s': (1.0, 'force'), 'N m s': (1.0, 'force'),
    'km/h': (1 / 3.6, 'parameter'), 'ohm': (1.0, 'parameter'), 'H': (1.0, 'parameter'), 'V s/rad': (1.0, 'parameter'),
    'V s/m': (1.0, 'parameter'), 'K': (1.0, 'parameter'), 'N m/(rad s)': (1.0, 'force'),
}


def unit_of(unit: str, where: str):
    """Return (factor to SI, kind) of `unit`; `where` names the culprit if it is unknown."""
    if unit not in UNITS:
        raise MbsError(f"{where}: the unit '{unit}' is unknown{suggest(str(unit), UNITS)}")
    return UNITS[unit]
