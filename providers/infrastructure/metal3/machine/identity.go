package machine

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

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

// LabelPrefixes is the annotation of a Metal3Cluster that names, with commas between them,
// the prefixes of labels that Nodes have from their hosts.
// Source: CAPM3, controllers/metal3labelsync_controller.go.
const LabelPrefixes = "metal3.io/metal3-label-sync-prefixes"

// NodeLabels returns those of a host's labels whose prefixes annotation names, the value of
// LabelPrefixes. What is no prefix gives the kind Invalid.
func NodeLabels(annotation string, host map[string]string) (map[string]string, error) {
	prefixes := make(map[string]bool)
	for p := range strings.SplitSeq(annotation, ",") {
		p = strings.TrimSpace(p)
		if p == "" {
			continue
		}
		if problems := validation.IsDNS1123Subdomain(p); len(problems) > 0 {
			return nil, fleet.Errorf(fleet.Invalid, "read the annotation "+LabelPrefixes, "%q is no prefix of labels: %s", p, strings.Join(problems, "; "))
		}
		prefixes[p] = true
	}
	out := make(map[string]string)
	for name, value := range host {
		if p, rest, has := strings.Cut(name, "/"); has && rest != "" && prefixes[p] {
			out[name] = value
		}
	}
	return out, nil
}
