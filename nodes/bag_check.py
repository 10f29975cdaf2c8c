"""Count what a recording holds and what it lacks: rate, gaps, loss, duplicates and reordering of every topic.

Loss is counted by the sequence in the frame of each message. A sequence that starts again (a publisher restarted)
begins a new run; runs are counted each by itself. A topic that shows every tenth tick counts in tens.
"""

from array import array
from dataclasses import dataclass, field

import numpy as np

from mbs_haptics.bags import Recording, answered_of, sequence_of, stamp_of
from mbs_haptics.figures import Figures

LOOP = ('joint_states', 'setpoint')     # topics with one message a tick
RESTART = 1000          # a step back in the sequence by more than this is a new run, a smaller one is reordering


@dataclass
class Topic:
    """What one topic of a recording holds; times in ns."""

    name: str
    kind: str
    times: array = field(default_factory=lambda: array('q'))
    stamps: array = field(default_factory=lambda: array('q'))
    sequence: array = field(default_factory=lambda: array('q'))
    answered: array = field(default_factory=lambda: array('q'))

    def add(self, sample):
        """Count one sample."""
        self.times.append(sample.time)
        number = sequence_of(sample.data)
        if number is not None:
            self.sequence.append(number)
            self.stamps.append(stamp_of(sample.data))
            answered = answered_of(sample.data)
            if answered is not None:
                self.answered.append(answered)

    @property
    def has_sequence(self):
        """Tell whether every message carries a sequence."""
        return len(self.sequence) == len(self.times) > 0

    @property
    def moments(self):
        """Return the times of the samples (ns): their own stamps where there are any, else those of recording."""
        return np.array(self.stamps if self.has_sequence and min(self.stamps) > 0 else self.times, dtype=np.int64)

    @property
    def seconds(self):
        """Return the time from the first to the last sample."""
        moments = self.moments
        return float(moments.max() - moments.min()) * 1e-9 if len(moments) else 0.0

    @property
    def rate(self):
        """Return the mean rate in Hz; 0 for fewer than two samples."""
        return (len(self.times) - 1) / self.seconds if self.seconds > 0 else 0.0

    @property
    def gap(self):
        """Return the largest time between two neighbouring samples, in s."""
        moments = np.sort(self.moments)
        return float(np.diff(moments).max()) * 1e-9 if len(moments) > 1 else 0.0

    def runs(self):
        """Return the sequence cut where it starts again."""
        numbers = np.array(self.sequence, dtype=np.int64)
        return np.split(numbers, np.flatnonzero(np.diff(numbers) < -RESTART) + 1)

    def losses(self):
        """Return how many messages are lost, doubled and out of order."""
        lost = doubled = disordered = 0
        for run in self.runs():
            unique = np.unique(run)
            steps, counts = np.unique(np.diff(unique), return_counts=True)
            if len(steps):
                lost += int((counts * (np.rint(steps / steps[counts.argmax()]) - 1).clip(0)).sum())
            doubled += len(run) - len(unique)
            disordered += int((np.diff(run) < 0).sum())
        return lost, doubled, disordered


def survey(path):
    """Return ({name: Topic}, the Recording) of a recording, in the order of first appearance."""
    recording, topics = Recording(path), {}
    for sample in recording:
        if sample.topic not in topics:
            topics[sample.topic] = Topic(sample.topic, sample.kind)
        topics[sample.topic].add(sample)
    return topics, recording


def check(topics, recording, rate=None, gap=None) -> Figures:
    """Return the figures of a recording; aims: no loss, no duplicates, and, if given, the rate of the loop (Hz, 1 %) and the gap (s)."""
    figures = Figures()
    whole = 'closed properly' if recording.is_whole else 'cut off; what was read is all there is'
    figures.add('bag.messages', sum(len(topic.times) for topic in topics.values()), '', '>0', whole)
    for name, topic in sorted(topics.items()):
        wanted = rate if name.rpartition('/')[2] in LOOP else None
        begin = f'bag.{name.strip("/")}'
        figures.add(f'{begin}.messages', len(topic.times), '', '', topic.kind)
        if not topic.has_sequence:
            figures.add(f'{begin}.rate', topic.rate, 'Hz', note="carries no sequence: loss can't be counted")
            continue
        lost, doubled, disordered = topic.losses()
        runs = len(topic.runs())
        figures.add(f'{begin}.rate', topic.rate, 'Hz', f'{0.99 * wanted:g}..{1.01 * wanted:g}' if wanted else '', 'by the stamps')
        figures.add(f'{begin}.gap', topic.gap * 1e3, 'ms', f'<={gap * 1e3:g}' if gap and name.rpartition('/')[2] in LOOP else '', 'largest between two samples')
        figures.add(f'{begin}.lost', lost, '', '==0', f'{runs} runs of the sequence' if runs > 1 else '')
        figures.add(f'{begin}.duplicates', doubled, '', '==0')
        figures.add(f'{begin}.reordered', disordered, '', '==0')
        if topic.answered:
            given = np.array(topic.answered, dtype=np.int64)
            given = given[given.astype(bool).argmax():]        # 0 until the first sample
            answers = np.unique(given)
            figures.add(f'{begin}.unanswered', int(answers.max() - answers.min()) + 1 - len(answers), '', '', 'samples that no set-point answers')
            figures.add(f'{begin}.held', len(given) - len(answers), '', '', 'set-points without a new sample')
    return figures
