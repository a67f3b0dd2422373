package inside

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
)

// The calls of etcd's JSON API that are used.
// Source: etcd, api/etcdserverpb/rpc.proto.
const (
	pathList   = "/v3/cluster/member/list"
	pathRemove = "/v3/cluster/member/remove"
	pathStatus = "/v3/maintenance/status"
	pathMove   = "/v3/maintenance/transfer-leadership"
)

// listAll asks for the members as etcd agrees on them. A member that lost touch
// with the others would tell what it last knew, where absence proves nothing.
var listAll = map[string]bool{"linearizable": true} //nolint:gochecknoglobals // a constant that Go cannot write as one

type memberID struct {
	ID uint64 `json:"ID,string"`
}

type memberList struct {
	Members []struct {
		memberID
		Name      string `json:"name"` // empty until it has started
		IsLearner bool   `json:"isLearner"`
	} `json:"members"`
}

type memberStatus struct {
	Header struct {
		MemberID uint64 `json:"member_id,string"` // of who answers
	} `json:"header"`
	Leader uint64   `json:"leader,string"`
	Errors []string `json:"errors"`
}

// Members reports the members of a stacked etcd. The Node of a member is that whose etcd
// answers with the id of the member; of one that no etcd answers for, it is the name of the
// member, as kubeadm names it.
func (c *Client) Members(ctx context.Context, a providers.Access) (*fleet.Etcd, error) {
	var out *fleet.Etcd
	err := c.clusters.Call(ctx, a, "observe etcd", func(ctx context.Context, n *workload.Conn) error {
		e, err := keptOf(n).etcdClient(n, a)
		if err != nil {
			return err
		}
		out, err = members(ctx, n, e)
		return err
	})
	return out, err
}

// members lists the members, as the first etcd pod that answers sees them, and
// asks each for its health.
func members(ctx context.Context, n *workload.Conn, e *etcdClient) (*fleet.Etcd, error) {
	var pods corev1.PodList
	if err := n.GetCached(ctx, podsPath, "component=etcd,tier=control-plane", &pods); err != nil {
		return nil, err
	}
	list, err := listMembers(ctx, e, pods)
	if err != nil {
		return nil, err
	}
	statuses := askNodes(ctx, e, nodesOf(list, pods))
	leader := leaderOf(statuses)
	out := &fleet.Etcd{Members: make([]fleet.Member, len(list.Members))}
	for i, m := range list.Members {
		node, s := statusOf(m.memberID, m.Name, statuses)
		out.Members[i] = fleet.Member{
			ID: m.ID, Name: m.Name, Node: node, Learner: m.IsLearner,
			Healthy: m.Name != "" && s != nil && s.Leader != 0 && len(s.Errors) == 0,
			Leader:  leader != 0 && m.ID == leader,
		}
	}
	slices.SortFunc(out.Members, func(a, b fleet.Member) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// nodesOf returns the Nodes that members may be on: those of etcd's pods, and those that have
// the names of members, of which the pods may not be listed.
func nodesOf(list memberList, pods corev1.PodList) []string {
	var out []string
	for _, p := range pods.Items {
		out = append(out, p.Spec.NodeName)
	}
	for _, m := range list.Members {
		out = append(out, m.Name)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(name string) bool { return name == "" })
}

// askNodes returns what the etcd of each Node says of itself. One that does not answer is left
// out, whatever the reason.
func askNodes(ctx context.Context, e *etcdClient, nodes []string) map[string]*memberStatus {
	var mu sync.Mutex
	var g errgroup.Group
	out := make(map[string]*memberStatus, len(nodes))
	for _, node := range nodes {
		g.Go(func() error {
			var s memberStatus
			ctx, cancel := context.WithTimeout(ctx, workload.DialTimeout)
			defer cancel()
			if e.post(ctx, node, pathStatus, struct{}{}, &s) == nil {
				mu.Lock()
				defer mu.Unlock()
				out[node] = &s
			}
			return nil
		})
	}
	_ = g.Wait()
	return out
}

// statusOf returns the Node of the member with that id and name, and what its etcd says there;
// nil: it does not answer.
func statusOf(id memberID, name string, statuses map[string]*memberStatus) (string, *memberStatus) {
	for node, s := range statuses {
		if s.Header.MemberID == id.ID {
			return node, s
		}
	}
	if s := statuses[name]; s != nil && s.Header.MemberID == 0 {
		return name, s
	}
	return name, nil
}

// leaderOf returns the leader that most members name.
func leaderOf(statuses map[string]*memberStatus) uint64 {
	votes := make(map[uint64]int)
	var leader uint64
	for _, node := range slices.Sorted(maps.Keys(statuses)) {
		s := statuses[node]
		if s.Leader == 0 {
			continue
		}
		votes[s.Leader]++
		if votes[s.Leader] > votes[leader] {
			leader = s.Leader
		}
	}
	return leader
}

// listMembers asks one etcd pod after the other until one answers.
func listMembers(ctx context.Context, e *etcdClient, pods corev1.PodList) (memberList, error) {
	failures := []error{fmt.Errorf("%w: no etcd pod answers", workload.ErrTunnel)}
	for _, p := range pods.Items {
		var out memberList
		ctx, cancel := context.WithTimeout(ctx, workload.DialTimeout)
		err := e.post(ctx, p.Spec.NodeName, pathList, listAll, &out)
		cancel()
		if err == nil {
			return out, nil
		}
		failures = append(failures, err)
	}
	return memberList{}, errors.Join(failures...)
}

// RemoveMember takes a member out of etcd, after it handed leadership to another if it
// led; one that is not there is success. The decision may be some time
// old: whether etcd can spare the member is asked once more. The API server beside it has
// lost its etcd then. If the connection leads to it, the next call would wait in vain:
// it gets another.
func (c *Client) RemoveMember(ctx context.Context, a providers.Access, id uint64) error {
	op := fmt.Sprintf("remove etcd member %x", id)
	return c.clusters.Call(ctx, a, op, func(ctx context.Context, n *workload.Conn) error {
		e, err := keptOf(n).etcdClient(n, a)
		if err != nil {
			return err
		}
		etcd, err := members(ctx, n, e)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(etcd.Members, func(m fleet.Member) bool { return m.ID == id })
		if i < 0 {
			return nil
		}
		victim := etcd.Members[i]
		if why := etcd.QuorumWithout(id); why != "" {
			return fleet.Errorf(fleet.Conflict, op+" of cluster "+a.Cluster.String(), "%s", why)
		}
		heirs := slices.DeleteFunc(slices.Clone(etcd.Members), func(m fleet.Member) bool { return m.ID == id || !m.Healthy })
		if victim.Leader && victim.Healthy {
			in := map[string]string{"targetID": fmt.Sprint(heirs[0].ID)}
			if err := e.post(ctx, victim.Node, pathMove, in, &struct{}{}); err != nil {
				return err
			}
		}
		err = e.post(workload.Changing(ctx), heirs[0].Node, pathRemove, memberID{id}, &struct{}{})
		if refused, ok := errors.AsType[*etcdError](err); ok && refused.Code == codeNotFound {
			return nil
		}
		if err == nil {
			n.Renew()
		}
		return err
	})
}
