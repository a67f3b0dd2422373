// Package eks is the distribution of clusters whose control plane EKS keeps. All of their machines are of node
// groups: EKS sets them up and lets them in. Fairlead creates no machine that joins such a control plane.
package eks

import (
	"context"
	"errors"
	"time"

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

// Needs implements providers.Distribution.
func (Distribution) Needs(*fleet.Cluster) []fleet.SecretNeed {
	return []fleet.SecretNeed{{Name: fleet.ClusterCA, Hosted: true}}
}

// NewSecrets implements providers.Distribution: EKS gives all.
func (Distribution) NewSecrets(*fleet.Cluster, time.Time) (map[fleet.SecretName]fleet.SecretData, error) {
	return map[fleet.SecretName]fleet.SecretData{}, nil
}

// errGroups says what has machines instead.
var errGroups = errors.New("no machine joins EKS by itself yet: use a MachinePool with an AWSManagedMachinePool")

// UserData implements providers.Distribution.
func (Distribution) UserData(in providers.BootstrapInput) (providers.UserData, error) {
	return providers.UserData{}, fleet.Errorf(fleet.Invalid, "write the user data of machine "+string(in.Machine), "%w", errGroups)
}

// Admit implements providers.Distribution.
func (Distribution) Admit(_ context.Context, _ providers.Access, in providers.BootstrapInput, _ time.Duration) error {
	return fleet.Errorf(fleet.Invalid, "let in machine "+string(in.Machine), "%w", errGroups)
}

// Observe implements providers.Distribution.
func (d Distribution) Observe(ctx context.Context, a providers.Access, w *fleet.Workload) error {
	return d.clusters.Call(ctx, a, "observe the control plane of EKS", func(ctx context.Context, n *workload.Conn) (err error) {
		w.Version, err = n.Version(ctx)
		return err
	})
}
