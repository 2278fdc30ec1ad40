def solve_lp(g): raise NotImplementedError
def solve_ilp(g, label, n_clusters=None, time_limit=None): raise NotImplementedError
