"""Threads, processes, forks, thread limits; and what an import brings along."""

import math
import multiprocessing
import os
import subprocess
import sys
import threading
import warnings
from multiprocessing.pool import ThreadPool

import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

import minimand as mm
from minimand import _core
from minimand._base.threads import one_core_thread, processor_quota

# Large enough that a pass over the data is split between threads.
X, Y = make_classification(14_000, 30, n_informative=10, random_state=0)

MODELS = [
    mm.Classifier("logistic", "l2", alpha=0.01),
    mm.Classifier("logistic", "l1", alpha=0.1),
    mm.Regressor("squared", "l1", alpha=0.01),
    mm.Regressor("squared", "l2", alpha=0.01),
]


def fitted(i):
    model = MODELS[i % len(MODELS)]
    model = type(model)(**model.get_params(deep=False)).fit(X, Y)
    return model.coef_, model.certificate_.gap


@pytest.fixture(scope="module")
def alone():
    return [fitted(i) for i in range(len(MODELS))]


def assert_same(found, alone):
    """To the last bit: neither the run nor the other threads may change anything."""
    for i, (coef, gap) in enumerate(found):
        assert_array_equal(coef, alone[i % len(MODELS)][0])
        assert gap == alone[i % len(MODELS)][1]


def test_threads_do_not_disturb_each_other():
    share = max(1, _core.get_num_threads() // 4)
    with threadpool_limits(share, user_api="minimand"):
        alone = [fitted(i) for i in range(len(MODELS))]
    found = Parallel(n_jobs=4, backend="threading")(delayed(fitted)(i) for i in range(32))
    assert_same(found, alone)


def test_workers_of_a_pool_share_the_threads():
    """Whatever the others are doing: the share depends on the size of the pool alone."""
    before = _core.get_num_threads()
    try:
        _core.set_num_threads(12)
        found = Parallel(n_jobs=4, backend="threading")(
            delayed(_core.get_num_threads)() for _ in range(8)
        )
        assert found == [3] * 8
        found = Parallel(n_jobs=32, backend="threading")(
            delayed(_core.get_num_threads)() for _ in range(64)
        )
        assert found == [1] * 64
        assert _core.get_num_threads() == 12
    finally:
        _core.set_num_threads(before)


def _limited(_):
    with threadpool_limits(5, user_api="minimand"):
        return _core.get_num_threads()


def test_a_limit_set_in_a_worker_leaves_the_process_as_it_was():
    before = _core.get_num_threads()
    try:
        _core.set_num_threads(12)
        with ThreadPool(2) as pool:
            found = pool.map(_limited, [0])
        assert found == [2]
        assert _core.get_num_threads() == 12
    finally:
        _core.set_num_threads(before)


def test_threads_may_share_an_estimator_for_prediction():
    model = mm.Classifier(alpha=0.01).fit(X, Y)
    expected = model.predict_proba(X)
    found = Parallel(n_jobs=4, backend="threading")(
        delayed(model.predict_proba)(X) for _ in range(16)
    )
    for p in found:
        assert_array_equal(p, expected)


def test_processes(alone):
    # Workers get fewer threads, so sums may be added up in another order.
    found = Parallel(n_jobs=2, backend="loky")(delayed(fitted)(i) for i in range(len(MODELS)))
    for (coef, gap), (expected, _) in zip(found, alone):
        assert_allclose(coef, expected, rtol=1e-4, atol=1e-6)
        assert gap < 1e-4


def _in_a_child(queue):
    queue.put([fitted(i) for i in (0, 1, 3)])


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork"
)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_after_a_fit_does_not_hang(alone):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_a_child, args=(queue,))
    child.start()
    try:
        found = queue.get(timeout=60)
    finally:
        child.join(timeout=10)
        if child.is_alive():
            child.kill()
    assert child.exitcode == 0
    for (coef, _), i in zip(found, (0, 1, 3)):
        assert_array_equal(coef, alone[i][0])


def _threads_in_a_child():
    """What a forked child may use, said by its exit code."""
    child = os.fork()
    if child == 0:
        os._exit(_core.get_num_threads())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("holder", ["this thread", "another thread"])
def test_a_limit_of_ours_ends_in_a_child(holder):
    before = _core.get_num_threads()
    held, done = threading.Event(), threading.Event()

    def hold():
        with one_core_thread():
            held.set()
            done.wait(30)

    other = threading.Thread(target=hold)
    try:
        _core.set_num_threads(7)
        if holder == "this thread":
            with one_core_thread():
                assert _core.get_num_threads() == 1
                assert _threads_in_a_child() == 7
                assert _core.get_num_threads() == 1
        else:
            other.start()
            held.wait(30)
            assert _threads_in_a_child() == 7
            done.set()
            other.join()
        assert _core.get_num_threads() == 7
    finally:
        done.set()
        _core.set_num_threads(before)


def test_a_child_may_leave_what_its_parent_entered():
    """The child that goes on in the middle of a fit must not lift a limit twice."""
    code = (
        "import os\n"
        "from minimand import _core, threads\n"
        "_core.set_num_threads(6)\n"
        "with threads.one_core_thread():\n"
        "    child = os.fork()\n"
        "with threads.one_core_thread():\n"
        "    inside = _core.get_num_threads()\n"
        "assert (inside, _core.get_num_threads()) == (1, 6)\n"
        "if child: assert os.waitpid(child, 0)[1] == 0\n"
    )
    python(code)


def test_a_stopped_thread_leaves_the_others_alone():
    results = {}

    def run(name, callbacks):
        results[name] = mm.Classifier(alpha=0.01, callbacks=callbacks).fit(X, Y)

    def stop(state):
        return mm.STOP

    workers = [
        threading.Thread(target=run, args=(name, [stop] if name == "short" else None))
        for name in ("short", "whole")
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert results["whole"].certificate_.relative <= 1e-6
    assert results["short"].certificate_.iterations == 0


# Thread limits -------------------------------------------------------------------------------


def test_threadpoolctl_knows_the_core():
    ours = [info for info in threadpool_info() if info["user_api"] == "minimand"]
    assert len(ours) == 1
    assert ours[0]["num_threads"] == _core.get_num_threads()
    assert ours[0]["filepath"] == _core.__file__


@pytest.mark.parametrize("user_api", [None, "minimand"])
def test_a_limit_holds_and_ends(user_api):
    before = _core.get_num_threads()
    with threadpool_limits(limits=1, user_api=user_api):
        assert _core.get_num_threads() == 1
        mm.Classifier(alpha=0.01).fit(X, Y)
        assert _core.get_num_threads() == 1
    assert _core.get_num_threads() == before


def test_a_limit_of_another_library_does_not_hold_here():
    before = _core.get_num_threads()
    with threadpool_limits(limits=1, user_api="blas"):
        assert _core.get_num_threads() == before


def test_one_thread_finds_the_same_model():
    many = mm.Classifier("logistic", "l1", alpha=0.01, tol=1e-10).fit(X, Y)
    with threadpool_limits(1):
        one = mm.Classifier("logistic", "l1", alpha=0.01, tol=1e-10).fit(X, Y)
    assert_allclose(one.coef_, many.coef_, rtol=1e-5, atol=1e-7)


# Imports -------------------------------------------------------------------------------------


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.strip()


def test_a_limit_set_before_the_first_use_holds():
    code = (
        "import minimand as mm, threadpoolctl\n"
        "from minimand import _core\n"
        "_core.set_num_threads(3)\n"
        "with threadpoolctl.threadpool_limits(1): print(_core.get_num_threads())\n"
        "print(_core.get_num_threads())"
    )
    assert python(code).split() == ["1", "3"]


def test_the_environment_limits_threads():
    code = "from minimand import _core; print(_core.get_num_threads())"
    assert python(code, OMP_NUM_THREADS="1") == "1"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, math.inf),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, math.inf),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        (  # a group inside a narrower one
            {
                "proc/self/cgroup": "0::/user.slice/a job\n",
                "sys/fs/cgroup/user.slice/cpu.max": "200000 100000\n",
                "sys/fs/cgroup/user.slice/a job/cpu.max": "800000 100000\n",
            },
            2.0,
        ),
        (  # version one, in a container that does not see its own path
            {
                "proc/self/cgroup": "4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n0::/\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
        (
            {
                "proc/self/cgroup": "3:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            math.inf,
        ),
    ],
)
def test_control_groups_limit_threads(tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert processor_quota(tmp_path) == expected


def test_a_quota_is_the_number_of_threads_to_begin_with():
    code = (
        "import pathlib\n"
        "read = pathlib.Path.read_text\n"
        "files = {'/proc/self/cgroup': '0::/', '/sys/fs/cgroup/cpu.max': '30000 100000'}\n"
        "pathlib.Path.read_text = lambda self: files.get(str(self)) or read(self)\n"
        "import minimand\n"
        "print(minimand._core.get_num_threads())"
    )
    assert python(code) == "1"


HEAVY = ("matplotlib", "pandas", "polars", "rich", "pyarrow", "IPython")


def test_an_import_brings_nothing_heavy():
    code = f"import minimand, sys; print([m for m in {HEAVY} if m in sys.modules])"
    assert python(code) == "[]"


def test_using_every_name_brings_nothing_that_scikit_learn_does_not():
    show = "import sys; print('\\n'.join(m for m in sys.modules if '.' not in m))"
    theirs = set(python(f"import sklearn.linear_model; {show}").split())
    use = "import minimand as mm; [getattr(mm, name) for name in mm.__all__]"
    ours = set(python(f"{use}; {show}").split())
    # A name here must be in pyproject's dependencies, and cheap.
    assert not (set(HEAVY) & ours) - theirs
