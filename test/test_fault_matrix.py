"""The fault matrix: every promise is kept in virtual time, and the table in the docs is the one that is measured."""

from pathlib import Path

import pytest

from mbs_core.errors import MbsError
from mbs_haptics.bench import faults

PAGE = Path(__file__).resolve().parents[1] / 'docs' / 'fault_matrix.md'
NAMES = [fault.name for fault in faults.FAULTS]


@pytest.fixture(scope='module')
def results():
    """Return what came of every fault, measured once."""
    return {fault.name: faults.measure(fault) for fault in faults.FAULTS}


@pytest.mark.parametrize('name', NAMES)
def test_every_fault_ends_as_promised(results, name):
    fault, found = faults.by_name(name), results[name]
    assert found.keeps(fault), found
    assert found.violations == {}


def test_the_table_of_the_docs_is_the_measured_one(results):
    rows = faults.rows_of(PAGE.read_text())
    assert list(rows) == NAMES
    for fault in faults.FAULTS:
        measured = faults.rows_of(faults.table([(fault, results[fault.name])]))[fault.name]
        shown, fresh = rows[fault.name], measured
        assert shown[:3] + shown[4:] == fresh[:3] + fresh[4:], f'run `haptic bench faults --write {PAGE}`'
        if fault.within_ms is not None:
            assert float(shown[3].split()[0]) == pytest.approx(float(fresh[3].split()[0]), abs=0.5)


def test_another_start_of_the_noise_changes_nothing_of_the_promises():
    for name in ('NaN from a sensor', 'frozen sensor', 'late samples'):
        fault = faults.by_name(name)
        assert faults.measure(fault, seed=7).keeps(fault)


def test_a_broken_promise_would_be_seen():
    fault = faults.by_name('link unplugged')
    good = faults.Found(9.0, True, 1, 'sensor', 0.1, 1.0, {})
    assert good.keeps(fault)
    for bad in (faults.Found(11.0, True, 1, 'sensor', 0.1, 1.0, {}), faults.Found(None, False, 0, 'none', 0.1, 1.0, {}),
                faults.Found(9.0, False, 0, 'none', 0.1, 1.0, {}), faults.Found(9.0, True, 1, 'sensor', 0.1, 1.0, {'slew': 1})):
        assert not bad.keeps(fault)
    still = faults.by_name('parameter storm')
    assert faults.Found(None, False, 0, 'none', 0.1, 1.0, {}).keeps(still)
    assert not faults.Found(None, False, 0, 'none', 2.0, 1.0, {}).keeps(still)
    assert not faults.Found(3.0, True, 1, 'none', 0.1, 1.0, {}).keeps(still)


def test_a_page_without_a_place_for_the_table_is_refused(tmp_path):
    (tmp_path / 'x.md').write_text('# nothing\n')
    with pytest.raises(MbsError, match='no place for the table'):
        faults.write_table(tmp_path / 'x.md', [])
    with pytest.raises(MbsError, match="can't be read"):
        faults.write_table(tmp_path / 'y.md', [])
