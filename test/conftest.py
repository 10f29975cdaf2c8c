"""What all tests share: tools they may need, and no silent skips under CI=true."""

import os
import shutil

import pytest
from _pytest.runner import runtestprotocol

CI = os.environ.get('CI', '').lower() in ('true', '1')


@pytest.fixture(scope='session')
def need_tool():
    """Return need(name, debian_package): the tool's path, or a skip (a failure under CI) that says what to install."""
    def need(name, debian_package):
        path = shutil.which(name)
        if path is None:
            sentence = f'{name} is missing: sudo apt install {debian_package}'
            pytest.fail(sentence, pytrace=False) if CI else pytest.skip(sentence)
        return path
    return need


def refuse_skip(report):
    """Turn a skip into a failure that says why; leave expected failures as they are."""
    if CI and report.skipped and not hasattr(report, 'wasxfail'):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = 'failed'
        report.longrepr = f'under CI=true nothing may be skipped, but: {reason}'


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Refuse skipped tests under CI; make recorded numbers plain ones, which the test processes can exchange."""
    report = yield
    refuse_skip(report)
    report.user_properties = [(name, float(value) if hasattr(value, 'dtype') else value) for name, value in report.user_properties]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Refuse skipped modules under CI."""
    report = yield
    refuse_skip(report)
    return report


def pytest_runtest_protocol(item, nextitem):
    """Try a test marked `alone` up to three times: on a shared machine a stall of everything is not the project's fault."""
    if item.get_closest_marker('alone') is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in (2, 1, 0):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if left == 0 or not any(r.failed for r in reports):
            break
        item._initrequest()
    for report in reports:
        report.user_properties.append(('tries', 3 - left))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter):
    """Name the tests that passed only at a later try: chance on a busy machine, or a fault that comes and goes."""
    again = {report.nodeid: dict(report.user_properties)['tries'] for report in terminalreporter.stats.get('passed', [])
             if report.when == 'call' and dict(report.user_properties).get('tries', 1) > 1}
    for test, tries in again.items():
        terminalreporter.write_line(f'passed at try {tries}: {test}', yellow=True)
    if again:
        terminalreporter.write_line(f'{len(again)} tests were tried again')
