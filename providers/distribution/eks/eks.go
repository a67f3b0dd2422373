// Package eks is the distribution of clusters whose control plane EKS keeps. Machines of node groups EKS sets up by
// itself. Those of Fairlead have nodeadm in their image: their user data tells it where the control plane is, and the role
// of their instance lets them in. So nothing in it is secret, and no machine has a token.
package eks

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/workload"
)

// A Distribution is the providers.Distribution of EKS. The zero value is good for what is pure. What a hosted control
// plane of kubeadm refuses, it refuses, too.
type Distribution struct {
	kubeadm.Hosted

	clusters *workload.Client
}

var _ providers.Distribution = Distribution{}

// New returns a Distribution that reaches clusters through c.
func New(c *workload.Client) Distribution { return Distribution{clusters: c} }

// Needs implements providers.Distribution. The secret of the CA has the name of the cluster and the addresses of Services, too.
func (Distribution) Needs(*fleet.Cluster) []fleet.SecretNeed {
	return []fleet.SecretNeed{{Name: fleet.ClusterCA, Workers: true, Hosted: true}}
}

// NewSecrets implements providers.Distribution: EKS gives all.
func (Distribution) NewSecrets(*fleet.Cluster, time.Time) (map[fleet.SecretName]fleet.SecretData, error) {
	return map[fleet.SecretName]fleet.SecretData{}, nil
}

// UserData implements providers.Distribution. Its errors name the pool and the field.
func (Distribution) UserData(in providers.BootstrapInput) (providers.UserData, error) {
	return userData(in)
}

// Registered implements providers.Distribution.
func (Distribution) Registered(p fleet.Pool) (map[string]string, []corev1.Taint) {
	s, err := specOf(p)
	if err != nil {
		return nil, nil
	}
	return registered(s)
}

// Admit implements providers.Distribution: the role of its instance lets in a machine.
func (Distribution) Admit(context.Context, providers.Access, providers.BootstrapInput, time.Duration) error {
	return nil
}

// Observe implements providers.Distribution.
func (d Distribution) Observe(ctx context.Context, a providers.Access, w *fleet.Workload) error {
	return d.clusters.Call(ctx, a, "observe the control plane of EKS", func(ctx context.Context, n *workload.Conn) (err error) {
		w.Version, err = n.Version(ctx)
		return err
	})
}
