"""A plain piano string as sound: stiff partials that die away, brighter the harder the blow, stopped by the damper."""

import wave

import numpy as np

from mbs_core.errors import MbsError

RATE = 44100
PARTIALS = 24
STIFFNESS = 4e-4        # inharmonicity: f_n = n f_1 sqrt(1 + B n^2)
RING, STOP = 3.0, 0.08  # s: decay of the fundamental, and with the damper on the string


def string(note, velocity, held) -> np.ndarray:
    """Return the samples of one note: MIDI's note and velocity, damped after `held` seconds."""
    t = np.arange(int((held + 4 * STOP) * RATE)) / RATE
    first = 440.0 * 2 ** ((note - 69) / 12)
    out = np.zeros(len(t))
    hard = velocity / 127
    for n in range(1, PARTIALS + 1):
        f = n * first * np.sqrt(1 + STIFFNESS * n * n)
        if f > 0.45 * RATE:
            break
        # Struck at an eighth of its length; a soft felt leaves out what is shorter than its contact.
        level = np.sin(np.pi * n / 8) / n * np.exp(-n * (1.0 - 0.8 * hard) * 0.35)
        out += level * np.exp(-t * (1 + 0.25 * n) / RING) * np.sin(2 * np.pi * f * t)
    damped = np.where(t > held, np.exp(-(t - held) / STOP), 1.0)
    return hard ** 1.5 * out * damped * np.minimum(t / 0.002, 1.0)


def render(path, notes, note, end):
    """Write notes [(begin, end or None, velocity)] (s) as a WAV file that starts half a second before the first."""
    start = notes[0][0] - 0.5
    total = np.zeros(int((max(end, notes[-1][0] + 1.0) - start + 1.0) * RATE))
    for begin, stop, velocity in notes:
        sound = string(note, velocity, max((stop or end) - begin, 0.05))
        at = int((begin - start) * RATE)
        total[at:at + len(sound)] += sound[:len(total) - at]
    loudest = np.abs(total).max()
    data = (total * (0.9 * 32767 / loudest if loudest > 0 else 0.0)).astype('<i2')
    try:
        with wave.open(str(path), 'wb') as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(data.tobytes())
    except OSError as error:
        raise MbsError(f"the sound file '{path}' can't be written: {error.strerror}") from None
