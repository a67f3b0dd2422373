package inside

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// Members reports the members of a stacked etcd. The members of a stacked etcd have the names
// of their Nodes.
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
	list, err := listMembers(ctx, n, e)
	if err != nil {
		return nil, err
	}
	out := &fleet.Etcd{Members: make([]fleet.Member, len(list.Members))}
	statuses := make([]*memberStatus, len(list.Members))
	var g errgroup.Group
	for i, m := range list.Members {
		out.Members[i] = fleet.Member{ID: m.ID, Name: m.Name, Node: m.Name, Learner: m.IsLearner}
		if m.Name == "" {
			continue
		}
		g.Go(func() error {
			// One that does not answer is not healthy, whatever the reason.
			var s memberStatus
			ctx, cancel := context.WithTimeout(ctx, workload.DialTimeout)
			defer cancel()
			// Members may share a name, and one of them alone is on that node.
			if e.post(ctx, m.Name, pathStatus, struct{}{}, &s) == nil && (s.Header.MemberID == m.ID || s.Header.MemberID == 0) {
				statuses[i] = &s
			}
			return nil
		})
	}
	_ = g.Wait()
	leader := leaderOf(statuses)
	for i, s := range statuses {
		out.Members[i].Healthy = s != nil && s.Leader != 0 && len(s.Errors) == 0
		out.Members[i].Leader = leader != 0 && out.Members[i].ID == leader
	}
	slices.SortFunc(out.Members, func(a, b fleet.Member) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// leaderOf returns the leader that most members name.
func leaderOf(statuses []*memberStatus) uint64 {
	votes := make(map[uint64]int)
	var leader uint64
	for _, s := range statuses {
		if s == nil || s.Leader == 0 {
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
func listMembers(ctx context.Context, n *workload.Conn, e *etcdClient) (memberList, error) {
	var pods corev1.PodList
	err := n.GetCached(ctx, podsPath, "component=etcd,tier=control-plane", &pods)
	if err != nil {
		return memberList{}, err
	}
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
// led; one that is not there is success. Whoever decided on it looked some time
// ago: whether etcd can spare the member is asked once more. The API server beside it has
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
			if err := e.post(ctx, victim.Name, pathMove, in, &struct{}{}); err != nil {
				return err
			}
		}
		err = e.post(workload.Changing(ctx), heirs[0].Name, pathRemove, memberID{id}, &struct{}{})
		if refused, ok := errors.AsType[*etcdError](err); ok && refused.Code == codeNotFound {
			return nil
		}
		if err == nil {
			n.Renew()
		}
		return err
	})
}
