package machine

import (
	"strings"

	"fairlead.dev/fleet"
)

// IDPrefix is what the provider id of a machine begins with; the namespace, the host and the
// machine follow.
const IDPrefix = "metal3://"

// ProviderID returns the provider id of a machine on a host of its namespace.
// Source: CAPM3, baremetal/metal3machine_manager.go.
func ProviderID(namespace, host string, m fleet.MachineName) fleet.ProviderID {
	return fleet.ProviderID(IDPrefix + namespace + "/" + host + "/" + string(m))
}

// ParseProviderID reads what ProviderID wrote; of another id ok is false.
func ParseProviderID(id fleet.ProviderID) (namespace, host string, m fleet.MachineName, ok bool) {
	rest, ok := strings.CutPrefix(string(id), IDPrefix)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return "", "", "", false
	}
	return parts[0], parts[1], fleet.MachineName(parts[2]), true
}

// NodeName returns what the node of a host is called in Ironic: as baremetal-operator calls
// it, so that the hosts of a Metal3 are found. Neither a namespace nor a host has a tilde.
// Source: baremetal-operator, pkg/provisioner/ironic.
func NodeName(namespace, host string) string { return namespace + "~" + host }

// ParseNodeName reads what NodeName wrote; of another name ok is false.
func ParseNodeName(name string) (namespace, host string, ok bool) {
	namespace, host, ok = strings.Cut(name, "~")
	return namespace, host, ok && namespace != "" && host != ""
}
