package kubeadm

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/jointoken"
	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/workload"
)

// A Hosted is the providers.Distribution of workers that kubeadm joins to a hosted control
// plane. That belongs to somebody else: its CA certificates, kubeadm-config and addons do, too. The
// zero value is good for what is pure.
type Hosted struct{ kubeadm Distribution }

var _ providers.Distribution = Hosted{}

// NewHosted returns a Hosted that reaches clusters through c.
func NewHosted(c *workload.Client) Hosted { return Hosted{New(c)} }

// Traits implements providers.Distribution.
func (Hosted) Traits(*fleet.Cluster) fleet.Traits {
	return fleet.Traits{Membership: fleet.MembershipElsewhere}
}

// Needs implements providers.Distribution. The key of the cluster's authority is not at
// hand, so that tokens are derived from a secret of their own.
func (Hosted) Needs(*fleet.Cluster) []fleet.SecretNeed {
	return []fleet.SecretNeed{{Name: fleet.BootstrapSeed, Workers: true}, {Name: fleet.ClusterCA, Workers: true, Hosted: true}}
}

const seedLength = 32

// NewSecrets implements providers.Distribution.
func (Hosted) NewSecrets(*fleet.Cluster, time.Time) (map[fleet.SecretName]fleet.SecretData, error) {
	seed := make([]byte, seedLength)
	_, _ = rand.Read(seed) // it never fails
	return map[fleet.SecretName]fleet.SecretData{fleet.BootstrapSeed: {fleet.SeedKey: fleet.NewSecret(seed)}}, nil
}

// errHosted means that the operator of the control plane has to do it.
var errHosted = errors.New("the control plane is hosted: its operator does this")

func refused(c fleet.Key, op string) error {
	return fleet.Errorf(fleet.Invalid, op+" of cluster "+c.String(), "%w", errHosted)
}

// Rotate implements providers.Distribution.
func (Hosted) Rotate(c *fleet.Cluster, name fleet.SecretName, _ fleet.SecretData, _ fleet.RotationState) (fleet.SecretData, error) {
	return nil, refused(c.Key, "rotate the CA "+string(name))
}

// NewKubeconfig implements providers.Distribution.
func (Hosted) NewKubeconfig(c *fleet.Cluster, _ fleet.Endpoint, _ map[fleet.SecretName]fleet.SecretData, _ time.Time) (fleet.SecretData, error) {
	return nil, refused(c.Key, "issue the kubeconfig")
}

// InspectKubeconfig implements providers.Distribution. What is stored is what the control
// plane gave: it may have a token in place of a certificate, and then its end is not known.
func (h Hosted) InspectKubeconfig(s fleet.SecretData) (fleet.KubeconfigState, error) {
	if s[fleet.KubeconfigKey].IsZero() {
		return fleet.KubeconfigState{}, nil
	}
	state, err := h.kubeadm.InspectKubeconfig(s)
	if err != nil {
		return fleet.KubeconfigState{Exists: true}, nil
	}
	return state, nil
}

// UserData implements providers.Distribution.
func (Hosted) UserData(in providers.BootstrapInput) (providers.UserData, error) {
	if in.Join != fleet.JoinWorker {
		return providers.UserData{}, refused(in.Cluster.Key, "write the user data of control-plane machine "+string(in.Machine))
	}
	t, err := seeded(in)
	if err != nil {
		return providers.UserData{}, err
	}
	return userData(in, t)
}

// seeded returns the bootstrap token of the machine of in, which is derived from the seed
// of the cluster.
func seeded(in providers.BootstrapInput) (inside.Token, error) {
	op := "make the bootstrap token of machine " + string(in.Machine)
	seed := in.Secrets[fleet.BootstrapSeed][fleet.SeedKey]
	if len(seed.Reveal()) < seedLength {
		return inside.Token{}, fleet.Errorf(fleet.Unknown, op, "the secret %s has no seed of %d bytes", fleet.BootstrapSeed, seedLength)
	}
	info := "fairlead.dev/hosted\x00bootstrap token\x00" + in.Cluster.Key.String() + "\x00" + string(in.Machine) + "\x00"
	stream, err := hkdf.Key(sha256.New, seed.Reveal(), nil, info, 128)
	if err != nil {
		return inside.Token{}, fleet.Errorf(fleet.Unknown, op, "%w", err)
	}
	t, err := jointoken.From(stream)
	return inside.Token{ID: t.ID, Secret: t.Secret}, err
}

// Registered implements providers.Distribution.
func (h Hosted) Registered(p fleet.Pool) (map[string]string, []corev1.Taint) {
	return h.kubeadm.Registered(p)
}

// Steps implements providers.Distribution.
func (Hosted) Steps(*fleet.Cluster, *fleet.Workload) []fleet.Step { return nil }

// Observe implements providers.Distribution.
func (h Hosted) Observe(ctx context.Context, a providers.Access, w *fleet.Workload) error {
	return h.kubeadm.inside.ObserveHosted(ctx, a, w)
}

// Members implements providers.Distribution.
func (Hosted) Members(_ context.Context, a providers.Access) (*fleet.Etcd, error) {
	return nil, refused(a.Cluster, "list the members of etcd")
}

// RemoveMember implements providers.Distribution.
func (Hosted) RemoveMember(_ context.Context, a providers.Access, _ fleet.Member) error {
	return refused(a.Cluster, "remove a member of etcd")
}

// Admit implements providers.Distribution.
func (h Hosted) Admit(ctx context.Context, a providers.Access, in providers.BootstrapInput, ttl time.Duration) error {
	t, err := seeded(in)
	if err != nil {
		return err
	}
	return h.kubeadm.inside.EnsureToken(ctx, a, t, ttl)
}

// Apply implements providers.Distribution.
func (Hosted) Apply(_ context.Context, _ providers.Access, c *fleet.Cluster, _ fleet.Endpoint, name string) error {
	return refused(c.Key, "take step "+name)
}
