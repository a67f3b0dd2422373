package kubeadm

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm/inside"
)

// UserDataWith is UserData of a machine with another token than its own.
func UserDataWith(in providers.BootstrapInput, t inside.Token) (providers.UserData, error) {
	return userData(in, t)
}

// Token returns the token of machine m of c, whose authority is ca.
func Token(c *fleet.Cluster, ca fleet.SecretData, m fleet.MachineName) (inside.Token, error) {
	return tokenOf(providers.BootstrapInput{Cluster: c, Machine: m, Secrets: map[fleet.SecretName]fleet.SecretData{fleet.ClusterCA: ca}})
}

// ClusterConfiguration is what kubeadm-config says of c.
func ClusterConfiguration(c *fleet.Cluster, e fleet.Endpoint) ([]byte, error) {
	return clusterConfigurationOf(c, e)
}
