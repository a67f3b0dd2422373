// Package eks is the distribution of clusters whose control plane EKS keeps. Machines of node groups EKS sets up by
// itself. Those of Fairlead have nodeadm in their image: their user data tells it where the control plane is, and the role
// of their instance lets them in. So nothing in it is secret, and no machine has a token.
package eks

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/managed"
	"fairlead.dev/providers/workload"
)

// A Distribution is the providers.Distribution of EKS. The zero value is good for what is pure.
type Distribution struct {
	managed.Distribution

	clusters *workload.Client
}

var _ providers.Distribution = Distribution{}

// New returns a Distribution that reaches clusters through c.
func New(c *workload.Client) Distribution {
	return Distribution{managed.New(c, "EKS", "AWSManagedMachinePool"), c}
}

// Needs implements providers.Distribution. The secret of the CA has the name of the cluster and the addresses of Services, too.
func (Distribution) Needs(*fleet.Cluster) []fleet.SecretNeed {
	return []fleet.SecretNeed{{Name: fleet.ClusterCA, Workers: true, Hosted: true}}
}

// UserData implements providers.Distribution. Its errors name the pool and the field. A Node keeps Pods away until its labels are in
// place.
func (Distribution) UserData(in providers.BootstrapInput) (providers.UserData, error) {
	return userData(in, clusterv1.NodeUninitializedTaint)
}

// NodegroupUserData returns the user data of all machines of a node group with an image of people. EKS gives their Nodes labels
// and taints.
func NodegroupUserData(in providers.BootstrapInput) (providers.UserData, error) { return userData(in) }

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
