"""Starts and steps as scikit-learn's callbacks see them, and as `verbose` prints them."""

import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coterie.base import ConstrainedClusterMixin, anything, constrained_fit, progress, whole

X = [[0.0], [1.0], [2.0]]
HAS_CALLBACKS = hasattr(ConstrainedClusterMixin, "set_callbacks")
needs_callbacks = pytest.mark.skipif(
    not HAS_CALLBACKS, reason=f"scikit-learn {sklearn.__version__} has no callbacks"
)


class Looper(ConstrainedClusterMixin, BaseEstimator):
    """Does nothing, `n_init` times `n_steps` times, and says so in `log`."""

    parameter_rules = {
        "n_init": whole(1),
        "n_steps": whole(0),
        "max_iter": whole(0),
        "fails": anything("the start and step that fail, and whether the fit lives with it"),
        "verbose": whole(0),
    }

    def __init__(self, n_init=1, n_steps=2, max_iter=2, *, fails=(), verbose=0):
        self.n_init = n_init
        self.n_steps = n_steps
        self.max_iter = max_iter
        self.fails = fails
        self.verbose = verbose

    @constrained_fit
    def fit(self, X, y=None, *, constraints=None):
        X, _ = self._begin_fit(X, constraints)
        self.log = []
        with progress(self, X, n_starts=self.n_init, max_steps=self.max_iter) as starts:
            for start in range(self.n_init):
                try:
                    self._loop(start, starts)
                except ZeroDivisionError:
                    if "lives" not in self.fails:
                        raise
                if starts.stopped:
                    break
        self.labels_ = [0] * len(X)
        return self

    def _loop(self, start, starts):
        with starts() as step:
            for i in range(self.n_steps):
                self.log.append(("work", start, i))
                if (start, i) in self.fails:
                    raise ZeroDivisionError("it fails")
                if step(2.5 - i):
                    break


class Listener:
    """Writes into the estimator's log; `stops` are the tasks at whose end it asks to stop."""

    def __init__(self, *stops, fails_at=None):
        self.stops = stops
        self.fails_at = fails_at
        self.contexts = []

    def setup(self, estimator, context):
        self.contexts.append(context)

    def on_fit_task_begin(self, estimator, context):
        estimator.log.append(("begin", *self.name(context)))

    def on_fit_task_end(self, estimator, context):
        estimator.log.append(("end", *self.name(context)))
        if self.name(context) == self.fails_at:
            raise LookupError("the callback fails")
        return self.name(context) in self.stops

    def teardown(self, estimator, context):
        estimator.log.append(("teardown",))

    @staticmethod
    def name(context):
        """E.g. ("iteration", 1, 0): of start 1, the first."""
        path = []
        at = context
        while at.parent is not None:
            path.insert(0, at.task_id)
            at = at.parent
        return context.task_name, *path


def fitted(listener, **params):
    return Looper(**params).set_callbacks(listener).fit(X).log


@needs_callbacks
def test_one_start_is_one_level_and_tasks_enclose_their_work():
    listener = Listener()
    assert fitted(listener) == [
        ("begin", "fit"),
        ("begin", "iteration", 0),
        ("work", 0, 0),
        ("end", "iteration", 0),
        ("begin", "iteration", 1),
        ("work", 0, 1),
        ("end", "iteration", 1),
        ("end", "fit"),
        ("teardown",),
    ]
    assert [context.max_subtasks for context in listener.contexts[0]] == [2, 0, 0]


@needs_callbacks
def test_two_starts_are_two_levels():
    listener = Listener()
    assert fitted(listener, n_init=2, n_steps=1, max_iter=3) == [
        ("begin", "fit"),
        ("begin", "start", 0),
        ("begin", "iteration", 0, 0),
        ("work", 0, 0),
        ("end", "iteration", 0, 0),
        ("begin", "iteration", 0, 1),  # the loop ended before max_iter: what is open ends with the start
        ("end", "iteration", 0, 1),
        ("end", "start", 0),
        ("begin", "start", 1),
        ("begin", "iteration", 1, 0),
        ("work", 1, 0),
        ("end", "iteration", 1, 0),
        ("begin", "iteration", 1, 1),
        ("end", "iteration", 1, 1),
        ("end", "start", 1),
        ("end", "fit"),
        ("teardown",),
    ]
    assert [context.max_subtasks for context in listener.contexts[0]] == [2, 3, 0, 0, 3, 0, 0]


@needs_callbacks
@pytest.mark.parametrize(
    ("stops", "worked"),
    [
        ([("iteration", 0, 0)], [(0, 0), (1, 0), (1, 1)]),  # the step ends its start only
        ([("start", 0)], [(0, 0), (0, 1)]),
        ([("iteration", 0, 0), ("start", 0)], [(0, 0)]),
        ([("iteration", 0, 1)], [(0, 0), (0, 1), (1, 0), (1, 1)]),
    ],
)
def test_a_callback_stops_its_own_level(stops, worked):
    log = fitted(Listener(*stops), n_init=2)
    assert [entry[1:] for entry in log if entry[0] == "work"] == worked
    assert_balanced(log)


@needs_callbacks
def test_with_one_start_a_stopped_step_stops_the_fit():
    log = fitted(Listener(("iteration", 0)))
    assert [entry for entry in log if entry[0] == "work"] == [("work", 0, 0)]
    assert_balanced(log)


def assert_balanced(log):
    """Tasks nest: the one that ends is the one that began last."""
    stack = []
    for what, *task in log:
        if what == "begin":
            stack.append(tuple(task))
        elif what == "end":
            assert stack.pop() == tuple(task)
    assert not stack


@needs_callbacks
@pytest.mark.parametrize("n_init", [1, 2])
def test_more_steps_than_announced_are_harmless(n_init):
    log = fitted(Listener(), n_init=n_init, n_steps=5, max_iter=2)
    assert sum(entry[:2] == ("begin", "iteration") for entry in log) == 2 * n_init
    assert_balanced(log)


@needs_callbacks
def test_a_start_without_steps_still_ends_its_tasks():
    assert_balanced(fitted(Listener(), n_init=2, n_steps=0))


@needs_callbacks
@pytest.mark.parametrize("n_init", [1, 2])
def test_an_error_comes_out_alone_and_callbacks_are_torn_down(n_init):
    model = Looper(n_init=n_init, fails=((0, 1),)).set_callbacks(Listener())
    with pytest.raises(ZeroDivisionError, match="it fails") as caught:
        model.fit(X)
    assert caught.value.__context__ is None
    assert model.log[-2:] == [("work", 0, 1), ("teardown",)]


@needs_callbacks
@pytest.mark.parametrize("fails_at", [("iteration", 0, 0), ("start", 0), ("fit",)])
def test_an_error_of_a_callback_comes_out_alone(fails_at):
    with pytest.raises(LookupError, match="the callback fails") as caught:
        fitted(Listener(fails_at=fails_at), n_init=2)
    assert caught.value.__context__ is None


@needs_callbacks
@pytest.mark.parametrize("fails", [((0, 0), "lives"), ((0, 1), "lives"), ((1, 1), "lives")])
def test_a_failed_start_that_is_lived_with_is_ended_before_the_next(fails):
    log = fitted(Listener(), n_init=2, fails=fails)
    assert ("work", 1, 0) in log
    assert_balanced(log)


@needs_callbacks
def test_callbacks_of_a_pipeline_reach_the_steps():
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    class Propagated(Listener):
        max_propagation_depth = None

        def on_fit_task_begin(self, estimator, context):
            if isinstance(estimator, Looper):
                super().on_fit_task_begin(estimator, context)

        def on_fit_task_end(self, estimator, context):
            if isinstance(estimator, Looper):
                super().on_fit_task_end(estimator, context)

        def teardown(self, estimator, context):
            pass

    pipeline = make_pipeline(StandardScaler(), Looper(n_init=2))
    pipeline.set_callbacks(Propagated(), ProgressBar(max_propagation_depth=None)).fit(X)
    begun = [entry[1] for entry in pipeline[-1].log if entry[0] == "begin"]
    assert begun == ["fit", *["start", "iteration", "iteration"] * 2]


@needs_callbacks
@pytest.mark.parametrize("n_init", [1, 3])
def test_the_progress_bar_of_scikit_learn(n_init, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    Looper(n_init=n_init, n_steps=1, max_iter=4).set_callbacks(ProgressBar()).fit(X)
    shown = capsys.readouterr().out
    assert "Looper - fit" in shown
    assert shown.count("Looper - start") == (n_init if n_init > 1 else 0)
    assert "100%" in shown


def test_more_starts_than_announced_are_an_error_of_ours():
    with progress(Looper(), X, max_steps=1) as starts:
        with starts():
            pass
        with pytest.raises(RuntimeError, match="told of 1 starts; this is one more"), starts():
            pass


@pytest.mark.parametrize("live", [True, False])
def test_verbose_shows_a_bar_with_the_objective(live, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: live, raising=False)
    monkeypatch.setattr("coterie.base._bar._PAUSE", 0.0)
    Looper(n_init=2, max_iter=4, verbose=1).fit(X)
    shown = capsys.readouterr().out
    if live:
        first, *_, last = shown.removesuffix("\n").split("\r")[1:]
        assert first == "Looper [##..................] start 1 of 2, iteration 1, objective 2.5"
        assert last == f"Looper [{20 * '#'}] start 2 of 2, iteration 2, objective 1.5"
        assert len(set(map(len, shown.split("\r")[1:]))) <= 2  # what is written over is gone
    else:
        assert shown.splitlines()[0] == "Looper  10% start 1 of 2, iteration 1, objective 2.5"
        assert shown.splitlines()[-1] == "Looper 100% start 2 of 2, iteration 2, objective 1.5"
        assert "\r" not in shown
    with pytest.raises(ZeroDivisionError):
        Looper(fails=((0, 1),), verbose=1).fit(X)
    assert capsys.readouterr().out.endswith("iteration 1, objective 2.5\n")  # and the line is closed


def test_without_a_console_fits_are_silent(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)  # as under pythonw
    assert Looper().fit(X).log


def test_more_verbose_prints_a_line_a_step(capsys):
    Looper(verbose=2).fit(X)
    assert capsys.readouterr().out.splitlines() == [
        "Looper: iteration 1, objective 2.5",
        "Looper: iteration 2, objective 1.5",
    ]
    Looper(n_init=2, n_steps=1, verbose=2).fit(X)
    assert capsys.readouterr().out.splitlines() == [
        "Looper: start 1 of 2, iteration 1, objective 2.5",
        "Looper: start 2 of 2, iteration 1, objective 2.5",
    ]
    Looper().fit(X)
    assert capsys.readouterr().out == ""


def test_a_step_may_have_no_objective(capsys):
    with progress(Looper(verbose=2), X, max_steps=1, name="sweep") as starts, starts() as step:
        assert step() is False
    assert capsys.readouterr().out == "Looper: sweep 1\n"
