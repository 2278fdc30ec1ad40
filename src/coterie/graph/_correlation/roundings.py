import numpy as np
def pivot(g, order):
    lev=g.level; W=g.weights(); lab=np.full(g.n,-1); k=0
    for v in order:
        if lab[v]<0:
            lab[v]=k
            for u in np.flatnonzero((W[v]>0)&(lab<0)):
                if not np.isneginf(W[u][lab==k]).any(): lab[u]=k
            k+=1
    return lab
def _no(*a): raise NotImplementedError
cautious=cgw=lp_pivot=region=trivial=_no
