package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A snapshot is what can be seen of the fleet from outside at one time: the status branch,
// and the API servers of the clusters.
type snapshot struct {
	head   fleet.Revision // of the status branch
	status status.Status
	nodes  map[fleet.Key][]node // of clusters whose API server answers
}

// A node is a Node as its API server has it.
type node struct {
	name    string
	version string
	ready   bool
}

// An observer takes snapshots.
type observer struct {
	branch     sources.Branch
	kubeconfig func(ctx context.Context, k fleet.Key) (fleet.Secret, error)
	clusters   []fleet.Key

	nodes map[fleet.Key]corev1client.NodeInterface
	last  fleet.Revision
	read  status.Status
}

// look takes a snapshot. A cluster whose API server does not answer has no nodes in it.
func (o *observer) look(ctx context.Context) (snapshot, error) {
	head, tree, err := o.branch.Read(ctx)
	if err != nil {
		return snapshot{}, err
	}
	if head != o.last {
		if o.read, err = status.Read(tree); err != nil {
			return snapshot{}, err
		}
		o.last = head
	}
	s := snapshot{head: head, status: o.read, nodes: make(map[fleet.Key][]node)}
	for _, k := range o.clusters {
		nodes, err := o.nodesOf(ctx, k)
		if err != nil {
			continue
		}
		s.nodes[k] = nodes
	}
	return s, ctx.Err()
}

func (o *observer) nodesOf(ctx context.Context, k fleet.Key) ([]node, error) {
	nodes, ok := o.nodes[k]
	if !ok {
		kubeconfig, err := o.kubeconfig(ctx, k)
		if err != nil {
			return nil, err
		}
		if nodes, err = nodesIn(kubeconfig); err != nil {
			return nil, err
		}
		if o.nodes == nil {
			o.nodes = make(map[fleet.Key]corev1client.NodeInterface)
		}
		o.nodes[k] = nodes
	}
	list, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		delete(o.nodes, k)
		return nil, err
	}
	out := []node{}
	for _, n := range list.Items {
		out = append(out, node{name: n.Name, version: n.Status.NodeInfo.KubeletVersion, ready: ready(n)})
	}
	slices.SortFunc(out, func(a, b node) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func (s snapshot) report(k fleet.Key) fleet.Report {
	c, _ := s.status.Cluster(k)
	return c.Report
}

// names returns the names of the nodes of k, sorted.
func (s snapshot) names(k fleet.Key) []string {
	var out []string
	for _, n := range s.nodes[k] {
		out = append(out, n.name)
	}
	return out
}

// A condition of a snapshot returns nil where it holds, else what is missing.
type condition func(s snapshot) error

// all holds where every condition of es holds.
func all(es ...condition) condition {
	return func(s snapshot) error {
		var errs []error
		for _, e := range es {
			errs = append(errs, e(s))
		}
		return errors.Join(errs...)
	}
}

// running holds where cluster k is Provisioned at revision, with as many machines and ready
// nodes of version as Git asks for.
func running(k fleet.Key, revision, version string, controlPlane, workers int) condition {
	return func(s snapshot) error {
		r := s.report(k)
		switch {
		case r.Phase != fleet.PhaseProvisioned:
			return fmt.Errorf("the status of %s is %q, not Provisioned", k, r.Phase)
		case r.Revision.Hash() != revision:
			return fmt.Errorf("the status of %s is that of revision %q, not of %s", k, r.Revision.Short(), revision)
		case len(r.Machines) != controlPlane+workers:
			return fmt.Errorf("the status of %s has %d machines, not %d", k, len(r.Machines), controlPlane+workers)
		}
		good := 0
		for _, n := range s.nodes[k] {
			if n.ready && n.version == version {
				good++
			}
		}
		if len(s.nodes[k]) != controlPlane+workers || good != len(s.nodes[k]) {
			return fmt.Errorf("the API server of %s has %d nodes, %d of them ready with %s; wanted are %d",
				k, len(s.nodes[k]), good, version, controlPlane+workers)
		}
		return nil
	}
}

// replaced holds where none of the old nodes of k is left.
func replaced(k fleet.Key, old []string) condition {
	return func(s snapshot) error {
		for _, n := range s.names(k) {
			if slices.Contains(old, n) {
				return fmt.Errorf("the node %s of %s is still there", n, k)
			}
		}
		return nil
	}
}

// untouched holds where the nodes of k are the old ones.
func untouched(k fleet.Key, old []string) condition {
	return func(s snapshot) error {
		if now := s.names(k); !slices.Equal(now, old) {
			return fmt.Errorf("the nodes of %s are %v, not %v as before", k, now, old)
		}
		return nil
	}
}

// broken holds where k has a problem whose text contains words.
func broken(k fleet.Key, words string) condition {
	return func(s snapshot) error {
		for _, p := range s.report(k).Problems {
			if strings.Contains(p.String(), words) {
				return nil
			}
		}
		return fmt.Errorf("the status of %s has no problem about %q", k, words)
	}
}

// sound holds where k has no problems.
func sound(k fleet.Key) condition {
	return func(s snapshot) error {
		if n := len(s.report(k).Problems); n > 0 {
			return fmt.Errorf("the status of %s has %d problems", k, n)
		}
		return nil
	}
}

// deleted holds where k is deleted and its API server is gone.
func deleted(k fleet.Key) condition {
	return func(s snapshot) error {
		if p := s.report(k).Phase; p != fleet.PhaseDeleted {
			return fmt.Errorf("the status of %s is %q, not Deleted", k, p)
		}
		if _, answers := s.nodes[k]; answers {
			return fmt.Errorf("the API server of %s still answers", k)
		}
		return nil
	}
}

// gone holds where k has no status any more.
func gone(k fleet.Key) condition {
	return func(s snapshot) error {
		if _, ok := s.status.Cluster(k); ok {
			return fmt.Errorf("%s still has a status", k)
		}
		return nil
	}
}
