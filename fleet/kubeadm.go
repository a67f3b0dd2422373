package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Kubeadm is what kubeadm keeps in a cluster for machines that join and that an
// upgrade has to change: the ConfigMap kube-system/kubeadm-config. The marks are
// annotations of it.
type Kubeadm struct {
	Version string // of Kubernetes, in its ClusterConfiguration
	// ExternalEtcd says that its ClusterConfiguration has etcd elsewhere.
	ExternalEtcd bool
	Networking   Networking // in its ClusterConfiguration
	Config       string     // the ConfigMark that it was brought in line with last; empty: it is as kubeadm init wrote it
	Addons       string     // the AddonsMark that kube-proxy and CoreDNS were brought in line with last
}

// Networking is what kubeadm made a cluster with and cannot change later. Fields
// are empty where it is not known.
type Networking struct {
	ServiceSubnet string `json:"serviceSubnet"` // ranges, with commas
	PodSubnet     string `json:"podSubnet"`
	DNSDomain     string `json:"dnsDomain"`
}

// The annotations of kubeadm-config.
const (
	ConfigAnnotation = "fairlead.dev/config"
	AddonsAnnotation = "fairlead.dev/addons"
)

// ConfigMark identifies what kubeadm-config has to say for machines of p, a
// control plane, to join.
func (p *Pool) ConfigMark() string {
	return mark(p.Version, object(p.Bootstrap.Field("clusterConfiguration")))
}

// AddonsMark identifies what kube-proxy and CoreDNS of the cluster of p, a
// control plane, have to be.
func (p *Pool) AddonsMark() string {
	var c struct {
		ImageRepository string          `json:"imageRepository"`
		DNS             json.RawMessage `json:"dns"`
	}
	_ = json.Unmarshal(object(p.Bootstrap.Field("clusterConfiguration")), &c) // what was decoded is JSON
	return mark(p.Version, c.ImageRepository, object(c.DNS), p.SkipKubeProxy, p.SkipCoreDNS)
}

// object returns the JSON object data, or one without fields where there is none.
func object(data json.RawMessage) json.RawMessage {
	if data == nil {
		return json.RawMessage("{}")
	}
	return data
}

// mark returns a digest of vs. Zero fields leave no trace, so that a field which
// a type gains later changes no mark.
func mark(vs ...any) string {
	h := sha256.New()
	for _, v := range vs {
		data, err := json.Marshal(v)
		if err != nil {
			data = []byte(err.Error()) // the types of Cluster API and strings always can
		}
		h.Write(append(data, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}
