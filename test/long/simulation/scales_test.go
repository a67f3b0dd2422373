package simulation

import (
	"context"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// autoscale has an autoscaler decide on a pool that Git leaves to it.
func (l *life) autoscale() {
	k, n := l.random.IntN(len(l.wishes)), l.random.IntN(5)
	w := l.wishes[k]
	p := w.pools[l.random.IntN(len(w.pools))]
	if l.agent == nil || !p.scaled || p.away || w.gone || w.deleted {
		return
	}
	pool, in, pushes := key(k).Name+"-"+p.name, l.agent, len(l.history)
	l.logf("the autoscaler wants %d machines in %s", n, pool)
	go func() {
		err := in.agent.Scale(in.ctx, key(k), func(s fleet.Scalable) (fleet.Scale, error) {
			if p, ok := s.Cluster.Pool(fleet.PoolName(pool)); !ok || p.Scaling == nil {
				return fleet.Scale{}, fleet.Errorf(fleet.Conflict, "scale "+pool, "the agent has not read that it may be scaled")
			}
			return fleet.Scale{Cluster: key(k), Pool: fleet.PoolName(pool), Replicas: n, Reason: "pods wait"}, nil
		})
		l.logf("the autoscaler wanted %d machines in %s: %v", n, pool, err)
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case fleet.KindOf(err) == fleet.Conflict:
		case err != nil || len(l.history) != pushes:
			delete(l.decided, pool) // nobody knows
		default:
			l.decided[pool] = n
		}
	}()
}

// forgetSizes forgets what was decided of pools that Git no longer leaves to the
// autoscaler. l.mu is held.
func (l *life) forgetSizes() {
	left := make(map[string]int)
	for i, w := range l.wishes {
		for _, p := range w.pools {
			name := key(i).Name + "-" + p.name
			if n, ok := l.decided[name]; ok && p.scaled && !p.away && !w.gone && !w.deleted {
				left[name] = n
			}
		}
	}
	l.decided = left
}

// sizes returns how many machines the pools of cluster i are to have, by name, or
// what is wrong with what the status branch says of that.
func (l *life) sizes(i int) (map[string]int, string) {
	scales, err := status.NewScales(&l.branch).List(context.Background())
	if err != nil {
		return nil, fmt.Sprintf("numbers of machines cannot be read: %v", err)
	}
	decided := make(map[string]int)
	for _, s := range scales {
		decided[string(s.Pool)] = s.Replicas
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]int)
	for _, p := range l.wishes[i].inGit() {
		name := key(i).Name + "-" + p.name
		n, ok := decided[name]
		switch last, was := l.decided[name]; {
		case !p.scaled && ok:
			return nil, fmt.Sprintf("the status branch has %d machines for pool %s, which is Git's", n, name)
		case !p.scaled:
			n = p.replicas
		case !ok:
			return nil, "the status branch has no number for pool " + name
		case was && n != last:
			return nil, fmt.Sprintf("the autoscaler wanted %d machines in pool %s, and the status branch has %d", last, name, n)
		}
		out[name] = n
	}
	return out, ""
}
