package decode

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
)

// settledKubeadm returns what of the configuration of p counts in hashes of schema 3, as JSON.
// Nil: nothing.
func settledKubeadm(p *fleet.Pool) json.RawMessage {
	return kubeadmPart(p, settledSpec)
}

// settledSpec returns what hashedSpec returns, in one form for all that gives the same user data.
func settledSpec(c bootstrapv1.KubeadmConfigSpec, p *fleet.Pool) bootstrapv1.KubeadmConfigSpec {
	c = hashedSpec(c, p)
	if r := &c.JoinConfiguration.NodeRegistration; p.Role == fleet.RoleWorker && r.Taints != nil && len(*r.Taints) == 0 {
		r.Taints = nil // a worker registers with a taint of Cluster API, so that kubeadm adds none
	}
	if v, err := version.ParseSemantic(p.Version); err == nil && v.Minor() < 31 {
		c.ClusterConfiguration.EncryptionAlgorithm = "" // kubeadm's v1beta3 has none
		c.ClusterConfiguration.CACertificateValidityPeriodDays = 0
	}
	for i := range c.Files {
		f := &c.Files[i]
		if f.ContentFormat == bootstrapv1.FileContentFormatTemplate && !f.ContentFrom.IsDefined() && !strings.Contains(f.Content, "{{") {
			f.ContentFormat = ""
		}
	}
	if c.Format == bootstrapv1.Ignition {
		settleIgnition(&c)
		return c
	}
	c.DiskSetup.Partitions = sortedByKey(c.DiskSetup.Partitions, func(p bootstrapv1.Partition) string { return p.Device }) // cloud-init has a mapping
	return c
}

// settleIgnition gives c, which Ignition reads, one form.
func settleIgnition(c *bootstrapv1.KubeadmConfigSpec) {
	c.Ignition.ContainerLinuxConfig.Strict = nil // it decides what is refused
	for i := range c.DiskSetup.Partitions {
		c.DiskSetup.Partitions[i].TableType = "" // gpt, which alone is taken
	}
	for i := range c.Users {
		u := &c.Users[i]
		if u.LockPassword != nil && *u.LockPassword && u.Passwd == "" && !u.PasswdFrom.IsDefined() {
			u.LockPassword = nil // there is no password to lock
		}
	}
	switch n := &c.NTP; {
	case n.Enabled == nil:
	case *n.Enabled:
		// An empty list of servers says something: the service is on.
		if n.Enabled = nil; len(n.Servers) == 0 {
			yes := true
			n.Enabled = &yes
		}
	default:
		*n = bootstrapv1.NTP{}
	}
}
