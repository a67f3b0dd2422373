package kubeadm

import (
	"net/netip"
	"slices"
	"strings"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// networking returns the networks of a cluster as kubeadm init has them. It refuses what kubeadm
// refuses, so that no first machine is created in vain. args are those of the controller manager.
// Source: kubeadm, app/apis/kubeadm/validation, ValidateNetworking.
func (c *converter) networking(in *clusterv1.ClusterNetwork, args []bootstrapv1.Arg) networking {
	c.families("serviceSubnet", "services", in.Services.CIDRBlocks)
	c.families("podSubnet", "pods", in.Pods.CIDRBlocks)
	const services, pods = "clusterConfiguration.networking.serviceSubnet", "clusterConfiguration.networking.podSubnet"
	for _, block := range in.Services.CIDRBlocks {
		_, bits := sizeOf(block)
		c.refuse(bits >= 0 && bits < 4, services, "the services of the Cluster have the range %s, and kubeadm needs at least 10 addresses: change spec.clusterNetwork.services", block)
		c.refuse(bits > 20 && c.minor < 34, services, "the services of the Cluster have the range %s, and kubeadm takes 2^20 addresses at most: change spec.clusterNetwork.services", block)
	}
	own := func(a bootstrapv1.Arg) bool {
		return a.Name == "allocate-node-cidrs" || strings.HasPrefix(a.Name, "node-cidr-mask-size")
	}
	if !slices.ContainsFunc(args, own) {
		for _, block := range in.Pods.CIDRBlocks {
			node, bits := sizeOf(block)
			c.refuse(bits >= 0 && bits < node, pods, "the pods of the Cluster have the range %s, which is smaller than that of a node: change spec.clusterNetwork.pods, or set node-cidr-mask-size of the controller manager", block)
			c.refuse(bits > node+16, pods, "the pods of the Cluster have the range %s, and kubeadm takes 65536 ranges of nodes at most: change spec.clusterNetwork.pods, or set node-cidr-mask-size of the controller manager", block)
		}
	}
	return networking{
		ServiceSubnet: strings.Join(in.Services.CIDRBlocks, ","),
		PodSubnet:     strings.Join(in.Pods.CIDRBlocks, ","),
		DNSDomain:     in.ServiceDomain,
	}
}

// families refuses more than one range of an IP family. field is kubeadm's name of the ranges of
// what.
func (c *converter) families(field, what string, blocks []string) {
	seen := map[int]bool{}
	for _, block := range blocks {
		p, err := netip.ParsePrefix(block)
		if err != nil {
			continue // the Cluster is refused
		}
		c.refuse(seen[p.Addr().BitLen()], "clusterConfiguration.networking."+field,
			"the %s of the Cluster have two ranges of one IP family: keep one of each in spec.clusterNetwork.%s", what, what)
		seen[p.Addr().BitLen()] = true
	}
}

// sizeOf returns how many bits of an address the range of a node leaves by default, and how many
// block leaves; -1: it is no range.
func sizeOf(block string) (node, bits int) {
	p, err := netip.ParsePrefix(block)
	if err != nil {
		return 0, -1
	}
	if p.Addr().Is4() {
		return 8, 32 - p.Bits()
	}
	return 64, 128 - p.Bits()
}
