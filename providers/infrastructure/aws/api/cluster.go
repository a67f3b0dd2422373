package api

import "time"

// AWSClusterSpec is what the machines of a cluster share.
type AWSClusterSpec struct {
	AdditionalTags                    map[string]string  `json:"additionalTags,omitempty"`
	Bastion                           *Bastion           `json:"bastion,omitempty"`
	ControlPlaneEndpoint              *APIEndpoint       `json:"controlPlaneEndpoint,omitempty"`
	ControlPlaneLoadBalancer          *LoadBalancer      `json:"controlPlaneLoadBalancer,omitempty"`
	IdentityRef                       *IdentityReference `json:"identityRef,omitempty"`
	ImageLookupBaseOS                 string             `json:"imageLookupBaseOS,omitempty"`
	ImageLookupFormat                 string             `json:"imageLookupFormat,omitempty"`
	ImageLookupOrg                    string             `json:"imageLookupOrg,omitempty"`
	Network                           *Network           `json:"network,omitempty"`
	Partition                         string             `json:"partition,omitempty"`
	Region                            string             `json:"region,omitempty"`
	S3Bucket                          *S3Bucket          `json:"s3Bucket,omitempty"`
	SecondaryControlPlaneLoadBalancer *LoadBalancer      `json:"secondaryControlPlaneLoadBalancer,omitempty"`
	SSHKeyName                        *string            `json:"sshKeyName,omitempty"`
}

// An APIEndpoint is where the API server is reached.
type APIEndpoint struct {
	Host string `json:"host,omitempty"`
	Port int32  `json:"port,omitempty"`
}

// An IdentityReference names the account of a cluster.
type IdentityReference struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// A Bastion is a machine from which people reach the others.
type Bastion struct {
	AllowedCIDRBlocks   []string `json:"allowedCIDRBlocks,omitempty"`
	AMI                 string   `json:"ami,omitempty"`
	DisableIngressRules bool     `json:"disableIngressRules,omitempty"`
	Enabled             bool     `json:"enabled,omitempty"`
	InstanceType        string   `json:"instanceType,omitempty"`
}

// An S3Bucket holds the user data of machines of Ignition.
type S3Bucket struct {
	BestEffortDeleteObjects        bool     `json:"bestEffortDeleteObjects,omitempty"`
	ControlPlaneIAMInstanceProfile string   `json:"controlPlaneIAMInstanceProfile,omitempty"`
	Name                           string   `json:"name"`
	NodesIAMInstanceProfiles       []string `json:"nodesIAMInstanceProfiles,omitempty"`
	PresignedURLDuration           string   `json:"presignedURLDuration,omitempty"`
}

// PresignedFor is how long URLs of objects are valid; 0: instances read objects by their own rights.
func (b *S3Bucket) PresignedFor() time.Duration {
	d, _ := time.ParseDuration(b.PresignedURLDuration) // Git was checked
	return d
}
