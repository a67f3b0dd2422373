package replicas

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"fairlead.dev/fleet"
)

// The labels of the Leases of an agent's replicas.
const (
	AgentLabel = "fairlead.dev/agent" // name of the leader's Lease
	roleLabel  = "fairlead.dev/lease"
	indexLabel = "fairlead.dev/shard"
	countLabel = "fairlead.dev/shards" // of a session: how many its replica divides the clusters into

	roleSession = "session"
	roleShard   = "shard"
)

// Labels returns the labels that the Lease of the leader of agent is to have.
func Labels(agent string) map[string]string { return map[string]string{AgentLabel: agent} }

// ShardOf returns the shard of k, of n.
func ShardOf(k fleet.Key, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(k.String())) // it never fails
	return int(h.Sum32() % uint32(n))
}

// leases are all Leases of an agent's replicas at one time. They come from one
// answer of the API server: sessions and shards in them belong together.
type leases struct {
	leader   string                          // identity; empty: nobody
	sessions map[string]coordinationv1.Lease // by name of the Lease
	shards   map[int]coordinationv1.Lease
}

// listLeases returns the Leases of agent as they are now.
func listLeases(ctx context.Context, api coordinationv1client.LeaseInterface, agent string) (leases, error) {
	list, err := api.List(ctx, metav1.ListOptions{LabelSelector: AgentLabel + "=" + agent})
	if err != nil {
		return leases{}, fmt.Errorf("cannot list the replicas' leases: %w", err)
	}
	v := leases{sessions: make(map[string]coordinationv1.Lease), shards: make(map[int]coordinationv1.Lease)}
	for _, l := range list.Items {
		switch l.Labels[roleLabel] {
		case roleSession:
			v.sessions[l.Name] = l
		case roleShard:
			if i, err := strconv.Atoi(l.Labels[indexLabel]); err == nil {
				v.shards[i] = l
			}
		default:
			if l.Name == agent {
				v.leader = holder(l)
			}
		}
	}
	return v, nil
}

func holder(l coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// holderOf returns the session that holds shard i, or nothing: one that has
// ended holds nothing.
func (l leases) holderOf(i int) string {
	s := holder(l.shards[i])
	if _, alive := l.sessions[s]; !alive {
		return ""
	}
	return s
}

// otherCount returns a session whose replica does not divide the clusters into n
// shards, if there is one. What the two call shard 1 are different clusters.
func (l leases) otherCount(n int) (coordinationv1.Lease, bool) {
	for _, name := range slices.Sorted(maps.Keys(l.sessions)) {
		if s := l.sessions[name]; s.Labels[countLabel] != strconv.Itoa(n) {
			return s, true
		}
	}
	return coordinationv1.Lease{}, false
}

// balance says which of n shards the session self is to release and to acquire.
// All replicas compute the same assignment from the same Leases: every session has its
// share, and sessions that hold most keep the larger shares.
func (l leases) balance(self string, n int) (release, acquire []int) {
	held := make(map[string][]int, len(l.sessions))
	var free []int
	for i := range n {
		if s := l.holderOf(i); s != "" {
			held[s] = append(held[s], i)
		} else {
			free = append(free, i)
		}
	}
	order := slices.SortedFunc(maps.Keys(l.sessions), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(held[b]), len(held[a])), cmp.Compare(a, b))
	})
	place := slices.Index(order, self)
	if place < 0 {
		return nil, nil
	}
	share := n / len(order)
	if place < n%len(order) {
		share++
	}
	mine := held[self]
	if len(mine) > share {
		return mine[share:], nil
	}
	// Each begins at another place, so that they seldom want the same.
	for j := range free {
		if len(acquire) < share-len(mine) {
			acquire = append(acquire, free[(j+place*len(free)/len(order))%len(free)])
		}
	}
	slices.Sort(acquire)
	return nil, acquire
}
