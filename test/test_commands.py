"""The verbs about mechanisms: they write what they promise, speak JSON, and refuse bad input in one sentence."""

import csv
import json
import subprocess

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from mbs_haptics.main import main

PNG = b'\x89PNG\r\n\x1a\n'


@pytest.fixture
def haptic(capsys, monkeypatch, tmp_path):
    """Return call(*words) -> (exit code, standard output, standard error), run in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        capsys.readouterr()
        try:
            code = main([str(w) for w in words])
        except SystemExit as end:               # argparse
            code = end.code
        out, err = capsys.readouterr()
        return code, out, err
    return call


# -- run -----------------------------------------------------------------------------------------
def test_run_two_link_agrees_with_the_reference_and_leaves_a_picture(haptic, tmp_path):
    code, out, _ = haptic('run', 'two_link', '--headless', '--out', tmp_path / 'pictures')
    assert code == 0
    assert 'link4' in out and 'real-time factor' in out and 'two_link.png' in out.replace('\n', '')
    assert (tmp_path / 'pictures' / 'two_link.png').read_bytes().startswith(PNG)


def test_run_two_link_as_json(haptic):
    code, out, _ = haptic('run', 'two_link', '--json', '--seconds', 10)
    figures = {row['id']: row for row in json.loads(out)['figures']}
    assert code == 0
    assert figures['R1.closed_pd.link1']['value'] == pytest.approx(1.02573653, abs=1e-6)
    assert figures['R1.closed_pd.link1']['aim'] and figures['R1.closed_pd.residual']['ok']


def test_a_short_run_makes_no_claim_about_the_pose_at_rest(haptic):
    code, out, _ = haptic('run', 'two_link', '--json', '--seconds', 0.5)
    rows = {row['id']: row for row in json.loads(out)['figures']}
    assert code == 0 and rows['R1.closed_pd.link1']['aim'] == ''
    assert rows['R1.closed_pd.link1']['value'] == pytest.approx(1.09162442, abs=1e-7)


# -- simulate ------------------------------------------------------------------------------------
def test_simulate_writes_plot_table_and_recording(haptic, tmp_path):
    code, out, _ = haptic('simulate', 'four_bar', '--seconds', 0.2, '--plot', 'a.png', '--csv', 'a.csv', '--mcap', 'a.mcap')
    assert code == 0 and all(name in out for name in ('a.png', 'a.csv', 'a.mcap', 'residual'))
    assert (tmp_path / 'a.png').read_bytes().startswith(PNG)
    with open(tmp_path / 'a.csv') as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 201 and float(rows[-1]['t']) == pytest.approx(0.2)
    with AnyReader([tmp_path / 'a.mcap']) as reader:
        (link,) = reader.connections
        samples = [(stamp, reader.deserialize(raw, c.msgtype)) for c, stamp, raw in reader.messages()]
    assert (link.topic, link.msgtype) == ('/joint_states', 'sensor_msgs/msg/JointState')
    assert len(samples) == 201 and samples[-1][0] == 200_000_000
    last = samples[-1][1]
    assert last.name == ['crank', 'coupler', 'rocker'] and last.header.stamp.nanosec == 200_000_000
    assert last.position == pytest.approx([float(rows[-1][f'q.{n}']) for n in last.name], abs=0)
    assert last.velocity == pytest.approx([float(rows[-1][f'v.{n}']) for n in last.name], abs=0)


def test_simulate_writes_a_rosbag2_folder_with_driven_efforts(haptic, tmp_path):
    code, _, _ = haptic('simulate', 'slider_crank', '--variant', 'driven=true', '--seconds', 0.01, '--mcap', 'bag')
    assert code == 0 and (tmp_path / 'bag' / 'metadata.yaml').exists()
    with AnyReader([tmp_path / 'bag']) as reader:
        sample = [reader.deserialize(raw, c.msgtype) for c, _, raw in reader.messages()][-1]
    assert np.isfinite(sample.effort).all() and sample.effort[0] != 0 and len(sample.effort) == 3
    code, _, err = haptic('simulate', 'slider_crank', '--seconds', 0.01, '--mcap', 'bag')
    assert code == 2 and "'bag' exists already" in err


@pytest.mark.parametrize('method', ('rk4', 'euler', 'implicit', 'adaptive'))
def test_every_integrator_gives_about_the_same_motion(haptic, method):
    code, out, _ = haptic('simulate', 'two_link', '--variant', 'closed=true', '--seconds', 1, '--method', method, '--json')
    rows = {row['id']: row['value'] for row in json.loads(out)['figures']}
    assert code == 0
    assert rows['final.link1'] == pytest.approx(1.01922712, abs=1e-6 if method in ('rk4', 'adaptive') else 1e-2)


def test_simulate_sets_parameters_and_inputs(haptic):
    words = ('simulate', 'slider_crank', '--seconds', 0.5, '--json')
    final = [json.loads(haptic(*words, *more)[1])['figures'][2]['value'] for more in (
        (), ('--set', 'slider.damping=500'), ('--input', 'slider.force=-100'))]
    assert len(set(final)) == 3


# -- generate ------------------------------------------------------------------------------------
def test_generate_c_that_compiles_without_a_warning(haptic, tmp_path, need_tool):
    cc = need_tool('cc', 'gcc')
    code, out, _ = haptic('generate', 'four_bar', '--emit', 'c', '-o', 'four_bar.c')
    assert code == 0 and 'lines of c' in out
    done = subprocess.run([cc, '-std=c99', '-Wall', '-Wextra', '-Werror', '-O2', '-c', 'four_bar.c'], cwd=tmp_path, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


def test_generate_python_that_runs(haptic):
    code, out, _ = haptic('generate', 'pendulum', '--emit', 'python')
    assert code == 0
    exec(compile(out, 'pendulum', 'exec'), {})


def test_generate_llvm(haptic):
    code, out, _ = haptic('generate', 'pendulum', '--emit', 'llvm')
    assert code == 0 and 'define' in out


# -- mechanism -----------------------------------------------------------------------------------
def test_mechanism_list_names_all(haptic):
    from mbs_core.mechanisms import catalogue
    code, out, _ = haptic('mechanism', 'list')
    assert code == 0 and all(name in out for name in catalogue())


@pytest.mark.parametrize('words', (('lid_hinge',), ('two_link', '--variant', 'closed=true'), ('tree', '--variant', 'kind=random')))
def test_mechanism_show_tells_everything_and_draws(haptic, tmp_path, words):
    code, out, _ = haptic('mechanism', 'show', *words, '--draw', 'skeleton.png')
    assert code == 0 and (tmp_path / 'skeleton.png').read_bytes().startswith(PNG)
    assert 'ground' in out and 'Generated functions' in out and 'critical path' in out and 'useless' in out
    if words[0] == 'lid_hinge':
        assert 'prismatic' in out and 'partition' in out and 'r10' in out and 'Parameters' in out


# -- bad input -----------------------------------------------------------------------------------
BAD = {
    'run foo': "nothing to run called 'foo'",
    'run two_link --seconds -1': '--seconds must be a positive number, not -1',
    'run two_link --seconds nan': '--seconds must be a positive number',
    'run two_link --out /dev/null/x': "can't be written",
    'simulate four_bars': "no mechanism 'four_bars'; did you mean 'four_bar'?",
    'simulate four_bar --step 0': '--step must be a positive number',
    'simulate four_bar --step 9': '--step 9 s is longer than the run',
    'simulate four_bar --substeps 0': '--substeps must be at least 1',
    'simulate four_bar --set crank.length': "parameter 'crank.length' is not of the form name=value",
    'simulate four_bar --set crank.length=long': "parameter 'crank.length' must be a number, not 'long'",
    'simulate four_bar --set crank.length=99': 'outside its range [0.02, 0.5] m',
    'simulate four_bar --set crank.lenght=0.1': "did you mean 'crank.length'?",
    'simulate four_bar --set coupler.length=1': "can't be assembled",
    'simulate four_bar --input torque=1': "no input 'torque'",
    'simulate four_bar --input crank.torque=nan': 'not finite',
    'simulate four_bar --variant driven=perhaps': 'option driven=perhaps must be true or false',
    'simulate four_bar --variant drive=true': "no option 'drive'; did you mean 'driven'?",
    'simulate four_bar --plot a.jpg': "'a.jpg' must end in .png",
    'simulate four_bar --csv .': "'.' is a folder",
    'simulate four_bar --method magic': "invalid choice: 'magic'",
    'generate four_bar --emit fortran': "invalid choice: 'fortran'",
    'generate lid_hing': "did you mean 'lid_hinge'?",
    'mechanism show nothing_like_it': 'there is no mechanism',
    'mechanism show two_link --variant control=p': 'choose one of none, input',
    'mechanism show two_link --draw x.pdf': 'must end in .png',
}


@pytest.mark.parametrize('line', BAD)
def test_bad_input_is_refused_in_one_sentence(haptic, line):
    code, out, err = haptic(*line.split())
    assert code == 2
    assert BAD[line] in ' '.join(err.split())
    assert 'Traceback' not in err and out == ''
    if not err.startswith('usage'):
        assert err.count('\n') == 1 and err.startswith('haptic: ')
