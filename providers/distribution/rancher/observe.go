package rancher

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
)

// Observe implements providers.Distribution. A server works where its kubelet, which is one
// process with the rest or runs it, does, and its member votes.
func (d Distribution) Observe(ctx context.Context, a providers.Access, w *fleet.Workload) error {
	return d.clusters.Call(ctx, a, "observe the servers", func(ctx context.Context, n *workload.Conn) error {
		warnings := keptOf(n).warnings(ctx, n)
		for i := range w.Nodes {
			node := &w.Nodes[i]
			if said, ok := warnings[node.Name]; ok && said.at.After(node.Created) { // of this Node, not of one before it
				node.CertificatesNotAfter = said.notAfter
			}
		}
		observeServers(w)
		d.observeMade(w)
		return nil
	})
}

func observeServers(w *fleet.Workload) {
	w.Servers = nil
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.ControlPlane {
			w.Servers = append(w.Servers, fleet.Server{Node: n.Name, Ready: n.Ready && votes(n.Conditions)})
		}
	}
	slices.SortFunc(w.Servers, func(a, b fleet.Server) int { return strings.Compare(a.Node, b.Node) })
}
