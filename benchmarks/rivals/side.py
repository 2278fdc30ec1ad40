"""What every side of a race does: read the job, time the fits, write the answer. Needs NumPy only."""

import json
import platform
import sys
import time
from importlib.metadata import version

import numpy as np


def serve(prepare, packages):
    """Run the job.

    `prepare(X, must, cannot, init, settings)` returns a function of a seed that fits (only this is timed) and
    returns labels (of a distance: its matrix), or None where the method failed, and the number of iterations.
    """
    with np.load(sys.argv[1]) as job:
        settings = json.loads(str(job["settings"]))
        X = job["X"]
        draws = [
            (job[f"must_{i}"], job[f"cannot_{i}"], job.get(f"init_{i}")) for i in range(int(job["n_draws"]))
        ]
    answers = []
    told = {"failed": [], "n_iter": [], "draw_cpu_s": []}
    for i, (must, cannot, init) in enumerate(draws):
        fit = prepare(X, must, cannot, init, settings)

        def timed(seed=i, fit=fit):
            start = time.process_time()
            answer = fit(seed)
            return time.process_time() - start, answer

        if i == 0:
            first = timed()
            told["first_fit_s"] = first[0]
            runs = [timed() for _ in range(settings["repeats"])] or [first]
            told["cpu_s"] = [cpu for cpu, _ in runs]
        else:
            runs = [timed()]
        cpu, (found, n_iter) = runs[-1]
        told["draw_cpu_s"].append(cpu)
        told["failed"].append(found is None)
        told["n_iter"].append(n_iter)
        answers.append(np.full(len(X), -1) if found is None else found)
    told["versions"] = {"python": platform.python_version(), **{name: version(name) for name in packages}}
    np.savez(sys.argv[2], labels=np.array(answers), told=json.dumps(told))
