package rancher

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
)

const (
	nodesPath = "/api/v1/nodes"
	etcdRole  = "node-role.kubernetes.io/etcd"
	// isVoter is a condition of the Node of a server, which that sets itself.
	isVoter = corev1.NodeConditionType("EtcdIsVoter")
	// serverUser is who servers know by the server token.
	serverUser = "server"
	maxAnswer  = 4 << 20
)

// A member is what servers tell of one.
// Source: k3s, pkg/etcd, infoHandler; etcd, api/etcdserverpb/rpc.proto.
type member struct {
	ID        uint64   `json:"ID"`
	Name      string   `json:"name"` // empty until it has started
	PeerURLs  []string `json:"peerURLs"`
	IsLearner bool     `json:"isLearner"`
}

func votes(conditions []corev1.NodeCondition) bool {
	return slices.ContainsFunc(conditions, func(c corev1.NodeCondition) bool {
		return c.Type == isVoter && c.Status == corev1.ConditionTrue
	})
}

// Members implements providers.Distribution. Who leads is not told.
func (d Distribution) Members(ctx context.Context, a providers.Access) (*fleet.Etcd, error) {
	var out *fleet.Etcd
	err := d.clusters.Call(ctx, a, "observe etcd", func(ctx context.Context, n *workload.Conn) error {
		list, err := d.list(ctx, n, a)
		if err != nil {
			return err
		}
		out, err = memberHealth(ctx, n, list)
		return err
	})
	return out, err
}

// list asks a server for the members, as etcd agrees on them.
func (d Distribution) list(ctx context.Context, n *workload.Conn, a providers.Access) ([]member, error) {
	token := a.Secrets[fleet.ServerToken][fleet.TokenKey]
	op := "observe etcd of cluster " + a.Cluster.String()
	if token.IsZero() {
		return nil, fleet.Errorf(fleet.Invalid, op, "its server token is not stored")
	}
	client, base := n.Beside(d.program.JoinPort)
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/db/info", nil)
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth(serverUser, string(token.Reveal()))
	res, err := client.Do(req)
	if err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, op, "no server tells the members: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, op, "no server tells the members: %w", err)
	}
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fleet.Errorf(fleet.Unauthorized, op, "servers do not take the server token: %s", res.Status)
	default:
		return nil, fleet.Errorf(fleet.Unavailable, op, "a server cannot tell the members: %s", res.Status)
	}
	var answer struct {
		Members []member `json:"members"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, op, "a server cannot tell the members: %w", err)
	}
	// A server of an older version that has no quorum names itself alone, without an id.
	if len(answer.Members) == 0 || slices.ContainsFunc(answer.Members, func(m member) bool { return m.ID == 0 }) {
		return nil, fleet.Errorf(fleet.Unavailable, op, "a server cannot tell the members: etcd does not answer it")
	}
	return answer.Members, nil
}

// memberHealth returns the members in list with their health, which conditions of their Nodes show.
func memberHealth(ctx context.Context, n *workload.Conn, list []member) (*fleet.Etcd, error) {
	var nodes corev1.NodeList
	if err := n.GetCached(ctx, nodesPath, etcdRole, &nodes); err != nil {
		return nil, err
	}
	out := &fleet.Etcd{Members: make([]fleet.Member, len(list))}
	for i, m := range list {
		out.Members[i] = fleet.Member{ID: m.ID, Name: m.Name, Node: nodeOf(m.Name), Learner: m.IsLearner}
		j := slices.IndexFunc(nodes.Items, func(o corev1.Node) bool { return o.Name == nodeOf(m.Name) && m.Name != "" })
		if j < 0 {
			continue
		}
		node := &nodes.Items[j]
		told, known := node.Annotations[annotationOf(node, "node-name")]
		out.Members[i].Healthy = ready(node) && votes(node.Status.Conditions) && (!known || told == m.Name)
	}
	slices.SortFunc(out.Members, func(a, b fleet.Member) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// annotationOf returns the annotation of a Node by which either program calls what name says.
func annotationOf(node *corev1.Node, name string) string {
	for key := range node.Annotations {
		if strings.HasPrefix(key, "etcd.") && strings.HasSuffix(key, ".cattle.io/"+name) {
			return key
		}
	}
	return ""
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// nodeOf returns the Node of a member: its name without what follows the last hyphen.
// Source: k3s, pkg/etcd, setName.
func nodeOf(member string) string {
	if i := strings.LastIndex(member, "-"); i > 0 {
		return member[:i]
	}
	return member
}

func (d Distribution) annotation(name string) string {
	return "etcd." + d.program.Name + ".cattle.io/" + name
}

// RemoveMember implements providers.Distribution: it asks the servers, by an annotation of
// the Node of m. Of a member whose Node is gone, or has another member since, one is made
// that says what the servers look for; like others that no machine is behind it goes when
// the member is gone.
// Source: k3s, pkg/etcd/member_controller.go.
func (d Distribution) RemoveMember(ctx context.Context, a providers.Access, m fleet.Member) error {
	op := fmt.Sprintf("remove etcd member %x", m.ID)
	return d.clusters.Call(ctx, a, op, func(ctx context.Context, n *workload.Conn) error {
		list, err := d.list(ctx, n, a)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(o member) bool { return o.ID == m.ID })
		if i < 0 {
			return nil
		}
		etcd, err := memberHealth(ctx, n, list)
		if err != nil {
			return err
		}
		conflict := func(why string) error {
			return fleet.Errorf(fleet.Conflict, op+" of cluster "+a.Cluster.String(), "%s", why)
		}
		if why := etcd.QuorumWithout(m.ID); why != "" {
			return conflict(why)
		}
		victim := list[i]
		if victim.Name == "" {
			return conflict("it never started, and servers can be asked by name alone: they take it out themselves within five minutes")
		}
		if err := d.requestRemoval(ctx, n, a.Cluster, victim); err != nil {
			return err
		}
		n.Renew()
		return nil
	})
}

// requestRemoval makes the servers remove m from etcd.
func (d Distribution) requestRemoval(ctx context.Context, n *workload.Conn, c fleet.Key, m member) error {
	at := nodesPath + "/" + nodeOf(m.Name)
	var node corev1.Node
	err := n.Get(ctx, at, &node)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return err
	case err == nil && (node.Annotations[d.annotation("node-name")] == m.Name || node.Annotations[d.annotation("removed-node-name")] == m.Name):
		return n.MergePatch(ctx, at, map[string]any{"metadata": map[string]any{"annotations": map[string]string{d.annotation("remove"): "true", askedAnnotation: "true"}}})
	}
	u, err := url.Parse(slices.Concat(m.PeerURLs, []string{""})[0])
	if err != nil || u.Hostname() == "" {
		return fleet.Errorf(fleet.Conflict, "remove etcd member "+m.Name, "it has no Node, and no address by which servers know it")
	}
	err = n.Create(ctx, nodesPath, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.Name, Labels: map[string]string{etcdRole: "true"},
			Annotations: map[string]string{
				d.annotation("node-name"): m.Name, d.annotation("node-address"): u.Hostname(), d.annotation("remove"): "true",
				clusterv1.MachineAnnotation: nodeOf(m.Name), clusterv1.ClusterNameAnnotation: c.Name, clusterv1.ClusterNamespaceAnnotation: c.Namespace,
			},
		},
		Spec: corev1.NodeSpec{Unschedulable: true},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
