package rancher

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeconfig"
	"fairlead.dev/providers/distribution/pki"
	"fairlead.dev/providers/workload"
)

// A Program is what K3s and RKE2 differ in.
type Program struct {
	Name string // of its files, annotations and groups: "k3s"
	// JoinPort is where servers let others join, 0: where API servers answer.
	JoinPort int32
	// Authorities are the CAs that the first server is given. It makes the others itself.
	Authorities []Authority
	// Agreed are flags of config.yaml that all servers have to agree on, as far as Machine
	// sets them; "disable=servicelb" is one.
	Agreed []string
	// Machine returns what a machine is set up with.
	Machine func(in providers.BootstrapInput) (Machine, error)
}

// An Authority is one that servers of a Program read from files.
type Authority struct {
	Name       fleet.SecretName
	CommonName string
	File       string // below server/tls, without its extension
}

// A Distribution is the providers.Distribution of a Program. Without a client it is good
// for what is pure.
type Distribution struct {
	program  Program
	clusters *workload.Client
}

var _ providers.Distribution = Distribution{}

// New returns the distribution of p, which reaches clusters through c.
func New(p Program, c *workload.Client) Distribution { return Distribution{p, c} }

// Traits implements providers.Distribution.
func (Distribution) Traits(*fleet.Cluster) fleet.Traits {
	return fleet.Traits{Membership: fleet.MembershipPerMachine, LeaveIsAsked: true, NodeIsMember: true}
}

// Needs implements providers.Distribution. A worker is made with the authority of the
// cluster, of which it is given nothing but what tokens tell of it.
func (d Distribution) Needs(*fleet.Cluster) []fleet.SecretNeed {
	var out []fleet.SecretNeed
	for _, a := range d.program.Authorities {
		out = append(out, fleet.SecretNeed{Name: a.Name, Workers: a.Name == fleet.ClusterCA})
	}
	return append(out, fleet.SecretNeed{Name: fleet.ServerToken, Inside: true})
}

const authorityDays = 3650

// tokenBytes is how much of a server token is random.
const tokenBytes = 16

// NewSecrets implements providers.Distribution. Randomness is the system's.
func (d Distribution) NewSecrets(c *fleet.Cluster, now time.Time) (map[fleet.SecretName]fleet.SecretData, error) {
	out := make(map[fleet.SecretName]fleet.SecretData)
	for _, a := range d.program.Authorities {
		made, err := pki.NewCA(a.CommonName, "", authorityDays, now)
		if err != nil {
			return nil, fleet.Errorf(fleet.Unknown, "create the CA "+string(a.Name)+" of cluster "+c.Key.String(), "%w", err)
		}
		out[a.Name] = made
	}
	random := make([]byte, tokenBytes)
	if _, err := rand.Read(random); err != nil {
		return nil, fleet.Errorf(fleet.Unknown, "make the server token of cluster "+c.Key.String(), "%w", err)
	}
	out[fleet.ServerToken] = fleet.SecretData{fleet.TokenKey: fleet.NewSecret([]byte(hex.EncodeToString(random)))}
	return out, nil
}

// Rotate implements providers.Distribution. Servers keep their CA certificates in their
// datastore, where nothing that machines boot with changes them.
func (d Distribution) Rotate(c *fleet.Cluster, name fleet.SecretName, _ fleet.SecretData, _ fleet.RotationState) (fleet.SecretData, error) {
	return nil, fleet.Errorf(fleet.Invalid, "rotate the CA "+string(name)+" of cluster "+c.Key.String(),
		"servers of %s keep it in their datastore: use %[1]s certificate rotate-ca on one of them", d.program.Name)
}

// NewKubeconfig implements providers.Distribution: API servers are known by one authority,
// and their clients by another.
func (d Distribution) NewKubeconfig(c *fleet.Cluster, e fleet.Endpoint, secrets map[fleet.SecretName]fleet.SecretData, now time.Time) (fleet.SecretData, error) {
	op := "issue the kubeconfig of cluster " + c.Key.String()
	server, err := pki.Load(secrets[fleet.ClusterCA])
	if err != nil {
		return nil, fleet.Errorf(fleet.Unknown, op, "cluster CA: %w", err)
	}
	client, err := pki.Load(secrets[fleet.ClientCA])
	if err != nil {
		return nil, fleet.Errorf(fleet.Unknown, op, "client CA: %w", err)
	}
	return kubeconfig.Issue(c, e, server.Bundle, client, now)
}

// InspectKubeconfig implements providers.Distribution.
func (Distribution) InspectKubeconfig(s fleet.SecretData) (fleet.KubeconfigState, error) {
	return kubeconfig.Inspect(s)
}

// Registered implements providers.Distribution.
func (d Distribution) Registered(p fleet.Pool) (map[string]string, []corev1.Taint) {
	m, _ := d.program.Machine(providers.BootstrapInput{Cluster: &fleet.Cluster{}, Pool: p, Join: fleet.JoinWorker}) // of what cannot be read there is nothing
	return ParseLabels(m.Labels), ParseTaints(m.Taints)
}
