// Package managed is the distribution of clusters whose control plane and machines a cloud keeps, as EKS and AKS do. The
// machines are those of the cloud's own pools: it sets them up and lets them in. Fairlead creates no machine that joins
// such a control plane.
package managed

import (
	"context"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/workload"
)

// A Distribution is the providers.Distribution of such clusters. The zero value is good for what is pure. What a hosted
// control plane of kubeadm refuses, it refuses, too.
type Distribution struct {
	kubeadm.Hosted

	clusters   *workload.Client
	keeper     string // "EKS"
	poolObject string // what a MachinePool refers to: "AWSManagedMachinePool"
}

var _ providers.Distribution = Distribution{}

// New returns a Distribution that reaches clusters of a keeper through c. A MachinePool refers to a poolObject.
func New(c *workload.Client, keeper, poolObject string) Distribution {
	return Distribution{clusters: c, keeper: keeper, poolObject: poolObject}
}

// Needs implements providers.Distribution.
func (Distribution) Needs(*fleet.Cluster) []fleet.SecretNeed {
	return []fleet.SecretNeed{{Name: fleet.ClusterCA, Hosted: true}}
}

// NewSecrets implements providers.Distribution: the cloud gives all.
func (Distribution) NewSecrets(*fleet.Cluster, time.Time) (map[fleet.SecretName]fleet.SecretData, error) {
	return map[fleet.SecretName]fleet.SecretData{}, nil
}

// refuse says what has machines instead.
func (d Distribution) refuse(op string) error {
	return fleet.Errorf(fleet.Invalid, op, "no machine joins %s by itself yet: use a MachinePool with an %s", d.keeper, d.poolObject)
}

// UserData implements providers.Distribution.
func (d Distribution) UserData(in providers.BootstrapInput) (providers.UserData, error) {
	return providers.UserData{}, d.refuse("write the user data of machine " + string(in.Machine))
}

// Admit implements providers.Distribution.
func (d Distribution) Admit(_ context.Context, _ providers.Access, in providers.BootstrapInput, _ time.Duration) error {
	return d.refuse("let in machine " + string(in.Machine))
}

// Observe implements providers.Distribution.
func (d Distribution) Observe(ctx context.Context, a providers.Access, w *fleet.Workload) error {
	return d.clusters.Call(ctx, a, "observe the control plane of "+d.keeper, func(ctx context.Context, n *workload.Conn) (err error) {
		w.Version, err = n.Version(ctx)
		return err
	})
}
