package cloud

import (
	"context"
	"net/http"
	"net/url"
	"slices"
)

// UpdateFailed is the state of an addon whose last change failed.
const UpdateFailed = "UPDATE_FAILED"

// An Addon is one that EKS keeps in a cluster.
type Addon struct {
	Name          string        `json:"addonName"`
	ARN           string        `json:"addonArn"`
	Version       string        `json:"addonVersion"`
	Status        string        `json:"status"`
	Configuration string        `json:"configurationValues"`
	Role          string        `json:"serviceAccountRoleArn"`
	Health        ManagedHealth `json:"health"`
	Tags          Tags          `json:"tags"`
}

// An AddonChange is what an addon is made with, or changed to. EKS keeps what is missing, and takes an empty role for none.
type AddonChange struct {
	Name          string  `json:"addonName,omitempty"` // of a new one
	Version       string  `json:"addonVersion"`
	Configuration *string `json:"configurationValues,omitempty"`
	Role          *string `json:"serviceAccountRoleArn,omitempty"`
	Conflicts     string  `json:"resolveConflicts"` // NONE, OVERWRITE or PRESERVE
	Tags          Tags    `json:"tags,omitempty"`   // of a new one
}

// Addons returns the names of the addons of a cluster.
func (c *Client) Addons(ctx context.Context, cluster string) ([]string, error) {
	var page struct{ Addons []string }
	return c.pages(ctx, "ListAddons", clusterPath(cluster, "addons"), func() []string { return page.Addons }, &page)
}

// Addon returns an addon.
func (c *Client) Addon(ctx context.Context, cluster, name string) (*Addon, error) {
	var got struct{ Addon Addon }
	err := c.rest(ctx, eks, "DescribeAddon", http.MethodGet, clusterPath(cluster, "addons", name), nil, &got)
	if err == nil && got.Addon.Name == "" {
		err = unread(eks, "DescribeAddon", "it has no addon")
	}
	return &got.Addon, err
}

// CreateAddon asks for an addon. Its name is alone in the cluster.
func (c *Client) CreateAddon(ctx context.Context, cluster string, a AddonChange) error {
	return c.rest(ctx, eks, "CreateAddon", http.MethodPost, clusterPath(cluster, "addons"), a, nil)
}

// UpdateAddon changes an addon.
func (c *Client) UpdateAddon(ctx context.Context, cluster, name string, a AddonChange) error {
	return c.rest(ctx, eks, "UpdateAddon", http.MethodPost, clusterPath(cluster, "addons", name, "update"), a, nil)
}

// DeleteAddon deletes an addon; with preserve, what it installed stays in the cluster.
func (c *Client) DeleteAddon(ctx context.Context, cluster, name string, preserve bool) error {
	path := clusterPath(cluster, "addons", name)
	if preserve {
		path += "?preserve=true"
	}
	return gone(c.rest(ctx, eks, "DeleteAddon", http.MethodDelete, path, nil, nil))
}

// AddonVersions returns the versions that EKS has of an addon for a minor version of Kubernetes, sorted as text.
func (c *Client) AddonVersions(ctx context.Context, name, kubernetes string) ([]string, error) {
	var page struct {
		Addons []struct {
			Versions []struct {
				Version string `json:"addonVersion"`
			} `json:"addonVersions"`
		} `json:"addons"`
	}
	path := "addons/supported-versions?" + url.Values{"addonName": {name}, "kubernetesVersion": {kubernetes}}.Encode()
	if err := c.rest(ctx, eks, "DescribeAddonVersions", http.MethodGet, path, nil, &page); err != nil {
		return nil, err
	}
	var out []string
	for _, a := range page.Addons { // one addon is one page
		for _, v := range a.Versions {
			out = append(out, v.Version)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
