package api

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// AzureClusterIdentitySpec is the principal that owns what is made for a cluster.
type AzureClusterIdentitySpec struct {
	AllowedNamespaces    *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
	CertPath             string             `json:"certPath,omitempty"`
	ClientID             string             `json:"clientID,omitempty"`
	ClientSecret         SecretReference    `json:"clientSecret,omitzero"`
	ResourceID           string             `json:"resourceID,omitempty"`
	TenantID             string             `json:"tenantID,omitempty"`
	Type                 string             `json:"type,omitempty"`
	CredentialsCloudType string             `json:"userAssignedIdentityCredentialsCloudType,omitempty"`
	CredentialsPath      string             `json:"userAssignedIdentityCredentialsPath,omitempty"`
}

// The types of identities. The first two read a password from the Secret, and the third a certificate, or a file. The
// others, and every file, are of the agent's machine.
const (
	ServicePrincipal       = "ServicePrincipal"
	ManualServicePrincipal = "ManualServicePrincipal"
	Certificate            = "ServicePrincipalCertificate"
	WorkloadIdentity       = "WorkloadIdentity"
	ManagedIdentity        = "UserAssignedMSI"
	IdentityCredential     = "UserAssignedIdentityCredential"
)

// SecretKey is the key of the Secret with the password or the certificate of the service principal.
const SecretKey = "clientSecret"

// A SecretReference names a Secret. Without a namespace it is in that of the object.
type SecretReference struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// AllowedNamespaces are those whose clusters may use an identity: nil none, empty all.
type AllowedNamespaces struct {
	List     []string              `json:"list,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// LetsIn reports whether clusters of the namespace of c may use an identity with these namespaces. Nil lets in
// none, empty all.
// Source: CAPZ, api/v1beta1/azureclusteridentity_types.go.
func (a *AllowedNamespaces) LetsIn(c *fleet.Cluster) (bool, error) {
	switch {
	case a == nil:
		return false, nil
	case slices.Contains(a.List, c.Key.Namespace):
		return true, nil
	case a.Selector == nil:
		return len(a.List) == 0, nil
	}
	return objects.LetsIn(a.Selector, c)
}
