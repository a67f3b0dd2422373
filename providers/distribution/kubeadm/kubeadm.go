package kubeadm

import (
	"cmp"
	"context"
	"fmt"
	"time"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/jointoken"
	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/distribution/kubeconfig"
	"fairlead.dev/providers/distribution/pki"
	"fairlead.dev/providers/workload"
)

const authorityDays = 3650

// A Distribution is the providers.Distribution of clusters with a KubeadmControlPlane. The
// zero value is good for what is pure.
type Distribution struct{ inside *inside.Client }

var _ providers.Distribution = Distribution{}

// New returns a Distribution that reaches clusters through c.
func New(c *workload.Client) Distribution { return Distribution{inside.New(c)} }

// Traits implements providers.Distribution.
func (Distribution) Traits(c *fleet.Cluster) fleet.Traits {
	if c.ExternalEtcd() {
		return fleet.Traits{Membership: fleet.MembershipElsewhere}
	}
	return fleet.Traits{Membership: fleet.MembershipPerMachine}
}

// Needs implements providers.Distribution. An external etcd has no authority that is
// made here: people give its certificate, and what API servers show it.
func (Distribution) Needs(c *fleet.Cluster) []fleet.SecretNeed {
	ca := fleet.SecretNeed{Name: fleet.ClusterCA, Workers: true}
	if c.ExternalEtcd() {
		return []fleet.SecretNeed{
			{Name: fleet.EtcdCA, Given: true},
			{Name: fleet.EtcdClient, Given: true},
			ca,
			{Name: fleet.FrontProxyCA},
			{Name: fleet.ServiceAccount},
		}
	}
	return []fleet.SecretNeed{ca, {Name: fleet.EtcdCA, Inside: true}, {Name: fleet.FrontProxyCA}, {Name: fleet.ServiceAccount}}
}

// NewSecrets implements providers.Distribution. Randomness is the system's.
func (d Distribution) NewSecrets(c *fleet.Cluster, now time.Time) (map[fleet.SecretName]fleet.SecretData, error) {
	spec, err := specOf(c.ControlPlane.Bootstrap)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "create the CA certificates of cluster "+c.Key.String(), "%w", err)
	}
	conf := spec.ClusterConfiguration
	days := cmp.Or(int(conf.CACertificateValidityPeriodDays), authorityDays)
	out := make(map[fleet.SecretName]fleet.SecretData)
	for _, need := range d.Needs(c) {
		if need.Given {
			continue
		}
		name := need.Name
		made, err := newAuthority(name, conf.EncryptionAlgorithm, days, now)
		if err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "create the CA "+string(name)+" of cluster "+c.Key.String(),
				"clusterConfiguration: %w", err)
		}
		out[name] = made
	}
	granted(c, out, now)
	return out, nil
}

func newAuthority(name fleet.SecretName, alg bootstrapv1.EncryptionAlgorithmType, days int, now time.Time) (fleet.SecretData, error) {
	switch name {
	case fleet.ClusterCA:
		return pki.NewCA("kubernetes", alg, days, now)
	case fleet.EtcdCA:
		return pki.NewCA("etcd-ca", alg, days, now)
	case fleet.FrontProxyCA:
		return pki.NewCA("front-proxy-ca", alg, days, now)
	case fleet.ServiceAccount:
		return pki.NewKeyPair(alg)
	}
	return nil, fmt.Errorf("there is no CA %q", name)
}

// NewKubeconfig implements providers.Distribution.
func (Distribution) NewKubeconfig(c *fleet.Cluster, e fleet.Endpoint, secrets map[fleet.SecretName]fleet.SecretData, now time.Time) (fleet.SecretData, error) {
	authority, err := pki.Load(secrets[fleet.ClusterCA])
	if err != nil {
		return nil, fleet.Errorf(fleet.Unknown, "issue the kubeconfig of cluster "+c.Key.String(), "cluster CA: %w", err)
	}
	return kubeconfig.Issue(c, e, authority.Bundle, authority, now)
}

// InspectKubeconfig implements providers.Distribution.
func (Distribution) InspectKubeconfig(s fleet.SecretData) (fleet.KubeconfigState, error) {
	return kubeconfig.Inspect(s)
}

// tokenOf returns the bootstrap token of the machine of in.
func tokenOf(in providers.BootstrapInput) (inside.Token, error) {
	t, err := token(in.Cluster.Key, in.Secrets[fleet.ClusterCA], in.Machine)
	if err != nil {
		return inside.Token{}, fleet.Errorf(fleet.Unknown, "make the bootstrap token of machine "+string(in.Machine), "cluster CA: %w", err)
	}
	return t, nil
}

// Observe implements providers.Distribution.
func (d Distribution) Observe(ctx context.Context, a providers.Access, w *fleet.Workload) error {
	return d.inside.Observe(ctx, a, w)
}

// Members implements providers.Distribution.
func (d Distribution) Members(ctx context.Context, a providers.Access) (*fleet.Etcd, error) {
	return d.inside.Members(ctx, a)
}

// RemoveMember implements providers.Distribution.
func (d Distribution) RemoveMember(ctx context.Context, a providers.Access, m fleet.Member) error {
	return d.inside.RemoveMember(ctx, a, m.ID)
}

// Admit implements providers.Distribution.
func (d Distribution) Admit(ctx context.Context, a providers.Access, in providers.BootstrapInput, ttl time.Duration) error {
	t, err := tokenOf(in)
	if err != nil {
		return err
	}
	return d.inside.EnsureToken(ctx, a, t, ttl)
}

func token(c fleet.Key, ca fleet.SecretData, m fleet.MachineName) (inside.Token, error) {
	authority, err := pki.Load(ca)
	if err != nil {
		return inside.Token{}, err
	}
	own, err := jointoken.Of(authority, c, m)
	if err != nil {
		return inside.Token{}, err
	}
	t := inside.Token{ID: own.ID, Secret: own.Secret}
	if fleet.RotationOf(ca) != (fleet.RotationState{}) {
		t.Authorities = authority.Bundle
	}
	return t, nil
}
