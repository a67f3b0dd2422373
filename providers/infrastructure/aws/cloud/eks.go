package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// The states of clusters and node groups.
const (
	Creating     = "CREATING"
	Active       = "ACTIVE"
	Updating     = "UPDATING"
	Deleting     = "DELETING"
	Failed       = "FAILED"
	CreateFailed = "CREATE_FAILED"
	DeleteFailed = "DELETE_FAILED"
	Degraded     = "DEGRADED"
)

// A ManagedHealth has what EKS finds wrong.
type ManagedHealth struct {
	Issues []struct {
		Code        string   `json:"code"`
		Message     string   `json:"message"`
		ResourceIDs []string `json:"resourceIds"`
	} `json:"issues"`
}

// String returns the issues for people, sorted.
func (h *ManagedHealth) String() string {
	var out []string
	for _, i := range h.Issues {
		text := i.Code + ": " + i.Message
		if len(i.ResourceIDs) > 0 {
			text += " (" + strings.Join(slices.Sorted(slices.Values(i.ResourceIDs)), ", ") + ")"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "; ")
}

// VPCConfig is where a cluster is, and from where its API server is reached.
type VPCConfig struct {
	Subnets     []string `json:"subnetIds,omitempty"`
	Group       string   `json:"clusterSecurityGroupId,omitempty"`
	VPC         string   `json:"vpcId,omitempty"`
	Public      *bool    `json:"endpointPublicAccess,omitempty"`
	Private     *bool    `json:"endpointPrivateAccess,omitempty"`
	PublicCIDRs []string `json:"publicAccessCidrs,omitempty"`
}

// LogSetup says that logs of some types are kept, or not.
type LogSetup struct {
	Types   []string `json:"types"`
	Enabled bool     `json:"enabled"`
}

// Logging says which logs are kept.
type Logging struct {
	Setups []LogSetup `json:"clusterLogging,omitempty"`
}

// Enabled returns the types of logs that are kept, sorted.
func (l *Logging) Enabled() []string {
	var out []string
	for _, s := range l.Setups {
		if s.Enabled {
			out = append(out, s.Types...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// An Encryption says with which key something is encrypted.
type Encryption struct {
	Resources []string `json:"resources"`
	Provider  struct {
		Key string `json:"keyArn"`
	} `json:"provider"`
}

// AccessConfig says what lets people in.
type AccessConfig struct {
	Mode         string `json:"authenticationMode,omitempty"`
	CreatorAdmin *bool  `json:"bootstrapClusterCreatorAdminPermissions,omitempty"`
}

// UpgradePolicy says when AWS upgrades by itself.
type UpgradePolicy struct {
	Support string `json:"supportType,omitempty"`
}

// A ServiceNetwork says which addresses Services have.
type ServiceNetwork struct {
	Range  string `json:"serviceIpv4Cidr,omitempty"`
	Six    string `json:"serviceIpv6Cidr,omitempty"` // as EKS chose it
	Family string `json:"ipFamily,omitempty"`        // of Pods, too; empty: IPv4
}

// OfIPv6 is the Family of a cluster whose Pods and Services have IPv6.
const OfIPv6 = "ipv6"

// A ManagedCluster is one of EKS.
type ManagedCluster struct {
	Name       string         `json:"name"`
	ARN        string         `json:"arn"`
	Version    string         `json:"version"` // 1.34
	Endpoint   string         `json:"endpoint"`
	Role       string         `json:"roleArn"`
	Status     string         `json:"status"`
	Tags       Tags           `json:"tags"`
	VPC        VPCConfig      `json:"resourcesVpcConfig"`
	Logging    Logging        `json:"logging"`
	Health     ManagedHealth  `json:"health"`
	Encryption []Encryption   `json:"encryptionConfig"`
	Access     AccessConfig   `json:"accessConfig"`
	Upgrades   UpgradePolicy  `json:"upgradePolicy"`
	Services   ServiceNetwork `json:"kubernetesNetworkConfig"`
	CA         struct {
		Data string `json:"data"` // base64 of PEM
	} `json:"certificateAuthority"`
	Identity struct {
		OIDC struct {
			Issuer string `json:"issuer"`
		} `json:"oidc"`
	} `json:"identity"`
}

func clusterPath(name string, more ...string) string {
	out := "clusters/" + url.PathEscape(name)
	for _, m := range more {
		out += "/" + url.PathEscape(m)
	}
	return out
}

// ManagedCluster returns the cluster of that name.
func (c *Client) ManagedCluster(ctx context.Context, name string) (*ManagedCluster, error) {
	var got struct{ Cluster ManagedCluster }
	err := c.rest(ctx, eks, "DescribeCluster", http.MethodGet, clusterPath(name), nil, &got)
	if err == nil && got.Cluster.Name == "" {
		err = unread(eks, "DescribeCluster", "it has no cluster")
	}
	return &got.Cluster, err
}

// pages asks for pages of names.
func (c *Client) pages(ctx context.Context, action, path string, names func() []string, into any) ([]string, error) {
	var out []string
	next := ""
	for {
		q := url.Values{"maxResults": {"100"}}
		if next != "" {
			q.Set("nextToken", next)
		}
		page := struct {
			Next *string `json:"nextToken"`
		}{}
		data, err := c.exchange(ctx, eks, action, http.MethodGet, path+"?"+q.Encode(), nil, nil)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(json.Unmarshal(data, into), json.Unmarshal(data, &page)); err != nil {
			return nil, unread(eks, action, err.Error())
		}
		out = append(out, names()...)
		if page.Next == nil || *page.Next == "" {
			return out, nil
		}
		next = *page.Next
	}
}

// ManagedClusters returns the names of all clusters.
func (c *Client) ManagedClusters(ctx context.Context) ([]string, error) {
	var page struct{ Clusters []string }
	return c.pages(ctx, "ListClusters", "clusters", func() []string { return page.Clusters }, &page)
}

// A NewCluster is what a cluster is made with.
type NewCluster struct {
	Name       string          `json:"name"`
	Role       string          `json:"roleArn"`
	Version    string          `json:"version"`
	VPC        VPCConfig       `json:"resourcesVpcConfig"`
	Logging    *Logging        `json:"logging,omitempty"`
	Encryption []Encryption    `json:"encryptionConfig,omitempty"`
	Access     AccessConfig    `json:"accessConfig"`
	Upgrades   *UpgradePolicy  `json:"upgradePolicy,omitempty"`
	Services   *ServiceNetwork `json:"kubernetesNetworkConfig,omitempty"`
	Addons     *bool           `json:"bootstrapSelfManagedAddons,omitempty"`
	Tags       Tags            `json:"tags"`
}

// CreateManagedCluster asks for a cluster. Its name is alone in the account and region. No request to EKS has a token:
// one that was used before would have what is asked for again answered, and not done.
func (c *Client) CreateManagedCluster(ctx context.Context, in NewCluster) error {
	return c.rest(ctx, eks, "CreateCluster", http.MethodPost, "clusters", in, nil)
}

// DeleteManagedCluster deletes one, which has no node groups.
func (c *Client) DeleteManagedCluster(ctx context.Context, name string) error {
	return gone(c.rest(ctx, eks, "DeleteCluster", http.MethodDelete, clusterPath(name), nil, nil))
}

// UpdateVersion upgrades a cluster by one minor version.
func (c *Client) UpdateVersion(ctx context.Context, name, version string) error {
	return c.rest(ctx, eks, "UpdateClusterVersion", http.MethodPost, clusterPath(name, "updates"), map[string]string{"version": version}, nil)
}

// A ConfigUpdate is one change of a cluster; EKS takes one at a time.
type ConfigUpdate struct {
	VPC      *VPCConfig     `json:"resourcesVpcConfig,omitempty"`
	Logging  *Logging       `json:"logging,omitempty"`
	Access   *AccessConfig  `json:"accessConfig,omitempty"`
	Upgrades *UpgradePolicy `json:"upgradePolicy,omitempty"`
}

// UpdateConfig changes a cluster.
func (c *Client) UpdateConfig(ctx context.Context, name string, u ConfigUpdate) error {
	return c.rest(ctx, eks, "UpdateClusterConfig", http.MethodPost, clusterPath(name, "update-config"), u, nil)
}

// Encrypt begins to encrypt what is in etcd. That has no end.
func (c *Client) Encrypt(ctx context.Context, name string, all []Encryption) error {
	return c.rest(ctx, eks, "AssociateEncryptionConfig", http.MethodPost, clusterPath(name, "encryption-config", "associate"), map[string]any{"encryptionConfig": all}, nil)
}

// TagManaged gives something of EKS tags.
func (c *Client) TagManaged(ctx context.Context, arn string, tags Tags) error {
	return c.rest(ctx, eks, "TagResource", http.MethodPost, "tags/"+url.PathEscape(arn), map[string]any{"tags": tags}, nil)
}

// UntagManaged removes tags of something of EKS.
func (c *Client) UntagManaged(ctx context.Context, arn string, keys []string) error {
	return c.rest(ctx, eks, "UntagResource", http.MethodDelete, "tags/"+url.PathEscape(arn)+"?"+url.Values{"tagKeys": keys}.Encode(), nil, nil)
}

// IsBusy reports whether EKS takes no change at this moment, and may in minutes.
func IsBusy(err error) bool {
	return Is(err, "ResourceInUseException", "ServiceUnavailableException", "ResourcePropagationDelayException") ||
		saysOf(err, "InvalidRequestException", "update in progress") || saysOf(err, "InvalidRequestException", "not in ACTIVE status")
}

// IsThere reports whether EKS refuses a change because it is as asked for already.
// Source: CAPA, issue 5441.
func IsThere(err error) bool {
	return saysOf(err, "InvalidParameterException", "already at the desired configuration") || saysOf(err, "InvalidRequestException", "already at the desired configuration") ||
		saysOf(err, "InvalidParameterException", "No changes needed")
}

func saysOf(err error, code, text string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code && strings.Contains(strings.ToLower(e.Message), strings.ToLower(text))
}
