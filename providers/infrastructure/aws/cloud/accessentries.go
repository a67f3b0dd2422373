package cloud

import (
	"context"
	"net/http"
)

// An AccessEntry lets in a user or a role.
type AccessEntry struct {
	Principal string   `json:"principalArn"`
	Groups    []string `json:"kubernetesGroups,omitempty"`
	Username  string   `json:"username,omitempty"`
	Type      string   `json:"type,omitempty"`
	Tags      Tags     `json:"tags,omitempty"`
	ARN       string   `json:"accessEntryArn,omitempty"` // that EKS answers
}

// An AccessPolicy is one of an entry.
type AccessPolicy struct {
	ARN   string `json:"policyArn"`
	Scope struct {
		Type       string   `json:"type"`
		Namespaces []string `json:"namespaces,omitempty"`
	} `json:"accessScope"`
}

// AccessEntries returns the principals of the entries of a cluster.
func (c *Client) AccessEntries(ctx context.Context, name string) ([]string, error) {
	var page struct{ AccessEntries []string }
	return c.pages(ctx, "ListAccessEntries", clusterPath(name, "access-entries"), func() []string { return page.AccessEntries }, &page)
}

// AccessEntry returns an entry.
func (c *Client) AccessEntry(ctx context.Context, name, principal string) (AccessEntry, error) {
	var got struct{ AccessEntry AccessEntry }
	err := c.rest(ctx, eks, "DescribeAccessEntry", http.MethodGet, clusterPath(name, "access-entries", principal), nil, &got)
	if err == nil && got.AccessEntry.Principal == "" {
		err = unread(eks, "DescribeAccessEntry", "it has no entry")
	}
	return got.AccessEntry, err
}

// CreateAccessEntry makes an entry.
func (c *Client) CreateAccessEntry(ctx context.Context, name string, e AccessEntry) error {
	return c.rest(ctx, eks, "CreateAccessEntry", http.MethodPost, clusterPath(name, "access-entries"), e, nil)
}

// UpdateAccessEntry gives an entry other groups and another name.
func (c *Client) UpdateAccessEntry(ctx context.Context, name string, e AccessEntry) error {
	in := map[string]any{"kubernetesGroups": e.Groups}
	if e.Groups == nil {
		in["kubernetesGroups"] = []string{}
	}
	if e.Username != "" {
		in["username"] = e.Username
	}
	return c.rest(ctx, eks, "UpdateAccessEntry", http.MethodPost, clusterPath(name, "access-entries", e.Principal), in, nil)
}

// DeleteAccessEntry deletes an entry.
func (c *Client) DeleteAccessEntry(ctx context.Context, name, principal string) error {
	return gone(c.rest(ctx, eks, "DeleteAccessEntry", http.MethodDelete, clusterPath(name, "access-entries", principal), nil, nil))
}

// AccessPolicies returns the policies of an entry.
func (c *Client) AccessPolicies(ctx context.Context, name, principal string) ([]AccessPolicy, error) {
	var got struct{ AssociatedAccessPolicies []AccessPolicy } // an entry has 20 at most, which are one page
	err := c.rest(ctx, eks, "ListAssociatedAccessPolicies", http.MethodGet, clusterPath(name, "access-entries", principal, "access-policies")+"?maxResults=100", nil, &got)
	return got.AssociatedAccessPolicies, err
}

// SetAccessPolicy gives an entry a policy, or that another scope.
func (c *Client) SetAccessPolicy(ctx context.Context, name, principal string, p AccessPolicy) error {
	return c.rest(ctx, eks, "AssociateAccessPolicy", http.MethodPost, clusterPath(name, "access-entries", principal, "access-policies"), p, nil)
}

// DropAccessPolicy takes a policy from an entry.
func (c *Client) DropAccessPolicy(ctx context.Context, name, principal, policy string) error {
	return gone(c.rest(ctx, eks, "DisassociateAccessPolicy", http.MethodDelete, clusterPath(name, "access-entries", principal, "access-policies", policy), nil, nil))
}
