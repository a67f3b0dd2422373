package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AllowedNamespaces are those whose clusters may use an identity: nil none, empty all.
type AllowedNamespaces struct {
	List     []string             `json:"list,omitempty"`
	Selector metav1.LabelSelector `json:"selector,omitempty"`
}

// AWSClusterRoleIdentitySpec is a role that is assumed from another identity.
type AWSClusterRoleIdentitySpec struct {
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
	DurationSeconds   int32              `json:"durationSeconds,omitempty"`
	ExternalID        string             `json:"externalID,omitempty"`
	InlinePolicy      string             `json:"inlinePolicy,omitempty"`
	PolicyARNs        []string           `json:"policyARNs,omitempty"`
	RoleARN           string             `json:"roleARN"`
	SessionName       string             `json:"sessionName,omitempty"`
	SourceIdentityRef *IdentityReference `json:"sourceIdentityRef,omitempty"`
}

// AWSClusterStaticIdentitySpec is an access key in a Secret.
type AWSClusterStaticIdentitySpec struct {
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
	SecretRef         string             `json:"secretRef"`
}

// AWSClusterControllerIdentitySpec is the agent's own account.
type AWSClusterControllerIdentitySpec struct {
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}
