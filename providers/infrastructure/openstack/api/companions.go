package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OpenStackClusterIdentitySpec makes a Secret usable from other namespaces. An
// OpenStackClusterIdentity has no namespace itself.
type OpenStackClusterIdentitySpec struct {
	SecretRef OpenStackCredentialSecretReference `json:"secretRef"`
	// NamespaceSelector says which namespaces may use it; nil means all.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// OpenStackCredentialSecretReference names a Secret with clouds.yaml.
type OpenStackCredentialSecretReference struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// OpenStackFloatingIPPoolSpec is what machines get floating IPs from.
type OpenStackFloatingIPPoolSpec struct {
	// PreAllocatedFloatingIPs exist; they are given out first and never deleted.
	PreAllocatedFloatingIPs []string `json:"preAllocatedFloatingIPs,omitempty"`
	// MaxIPs that may be given out at one time; nil means no bound.
	MaxIPs      *int                       `json:"maxIPs,omitempty"`
	IdentityRef OpenStackIdentityReference `json:"identityRef"`
	// FloatingIPNetwork is the external network; without it the only one.
	FloatingIPNetwork *NetworkParam `json:"floatingIPNetwork,omitempty"`
	ReclaimPolicy     ReclaimPolicy `json:"reclaimPolicy"`
}

// A ReclaimPolicy says what happens to a floating IP that was made for a machine
// that is gone.
type ReclaimPolicy string

// The policies.
const (
	ReclaimDelete ReclaimPolicy = "Delete"
	ReclaimRetain ReclaimPolicy = "Retain" // the pool gives it to another machine
)
