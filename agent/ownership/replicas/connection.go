package replicas

import (
	"crypto/rand"
	"fmt"
	"net"
	"strings"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"fairlead.dev/agent/wiring/kube"
)

// A Connection leads to the cluster in which replicas find each other.
type Connection struct {
	Leases    coordinationv1client.LeasesGetter
	Namespace string // that the kubeconfig or the pod names
}

// Connect returns the connection to the cluster that the file kubeconfig leads
// to; empty is the cluster that this process runs in. Requests end in time for
// t. It connects with the first request.
func Connect(kubeconfig string, t Timing) (*Connection, error) {
	access, err := kube.FromFile(kubeconfig, kube.Options{Timeout: t.WithDefaults().Deadline / 2})
	if err != nil {
		return nil, fmt.Errorf("cannot elect a leader: %w", err)
	}
	leases, err := coordinationv1client.NewForConfig(access.Config)
	if err != nil {
		return nil, fmt.Errorf("cannot elect a leader: %w", err)
	}
	return &Connection{Leases: leases, Namespace: access.Namespace}, nil
}

// NewIdentity returns an identity that no other process has: the name of the
// pod or machine, the host at which the other replicas reach it, and
// something random.
func NewIdentity(name, address string) string {
	return name + "_" + address + "_" + strings.ToLower(rand.Text()[:8])
}

// At returns the address at which the replica with that identity, which NewIdentity made,
// is reached on port; empty: the identity has no host. Former versions put a port there.
func At(identity, port string) string {
	parts := strings.Split(identity, "_")
	if len(parts) < 3 {
		return ""
	}
	address := parts[len(parts)-2]
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	if address == "" {
		return ""
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), port)
}
