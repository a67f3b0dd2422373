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

// A snapshot is what an outsider sees of the fleet at one time: the status branch
// and the API servers of the clusters. The demonstration believes nothing else.
type snapshot struct {
	head   fleet.Revision // of the status branch
	status status.Status
	nodes  map[fleet.Key][]node // of the clusters whose API server answers
}

// A node is what an API server says of one node.
type node struct {
	name    string
	version string
	ready   bool
}

// An observer looks from outside.
type observer struct {
	branch     sources.Branch
	kubeconfig func(ctx context.Context, k fleet.Key) (fleet.Secret, error)
	clusters   []fleet.Key

	nodes map[fleet.Key]corev1client.NodeInterface
	last  fleet.Revision
	read  status.Status
}

// look returns what is to be seen now. A cluster that does not answer has no
// nodes in it.
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

// names returns the nodes of k, sorted.
func (s snapshot) names(k fleet.Key) []string {
	var out []string
	for _, n := range s.nodes[k] {
		out = append(out, n.name)
	}
	return out
}

// A condition is a snapshot to wait for. It returns nil once it is seen, else
// what is missing.
type condition func(s snapshot) error

// all waits for every one of es.
func all(es ...condition) condition {
	return func(s snapshot) error {
		var errs []error
		for _, e := range es {
			errs = append(errs, e(s))
		}
		return errors.Join(errs...)
	}
}

// running waits for cluster k to be Provisioned at revision, with as many
// ready nodes of version, and as many machines, as Git asks for.
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

// replaced waits until none of the old nodes of k is left.
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

// untouched wants the nodes of k to be the ones that were there before.
func untouched(k fleet.Key, old []string) condition {
	return func(s snapshot) error {
		if now := s.names(k); !slices.Equal(now, old) {
			return fmt.Errorf("the nodes of %s are %v, not %v as before", k, now, old)
		}
		return nil
	}
}

// broken waits for a problem of k whose text has the words.
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

// sound waits for k to have no problems.
func sound(k fleet.Key) condition {
	return func(s snapshot) error {
		if n := len(s.report(k).Problems); n > 0 {
			return fmt.Errorf("the status of %s has %d problems", k, n)
		}
		return nil
	}
}

// deleted waits for k to be deleted and its API server to be gone.
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

// gone waits for k to have no status any more.
func gone(k fleet.Key) condition {
	return func(s snapshot) error {
		if _, ok := s.status.Cluster(k); ok {
			return fmt.Errorf("%s still has a status", k)
		}
		return nil
	}
}
