package cloud

import (
	"context"
	"net/http"
)

// A FargateSelector selects Pods of a namespace.
type FargateSelector struct {
	Namespace string `json:"namespace"`
	Labels    Tags   `json:"labels,omitempty"`
}

// A FargateProfile says which Pods of a cluster run on Fargate. But for its tags it stays as it was made.
type FargateProfile struct {
	Name      string            `json:"fargateProfileName"`
	ARN       string            `json:"fargateProfileArn,omitempty"`
	Role      string            `json:"podExecutionRoleArn"`
	Subnets   []string          `json:"subnets"`
	Selectors []FargateSelector `json:"selectors"`
	Status    string            `json:"status,omitempty"`
	Health    *ManagedHealth    `json:"health,omitempty"`
	Tags      Tags              `json:"tags"`
}

// FargateProfiles returns the names of the profiles of a cluster.
func (c *Client) FargateProfiles(ctx context.Context, cluster string) ([]string, error) {
	var page struct {
		Names []string `json:"fargateProfileNames"`
	}
	return c.pages(ctx, "ListFargateProfiles", clusterPath(cluster, "fargate-profiles"), func() []string { return page.Names }, &page)
}

// FargateProfile returns a profile.
func (c *Client) FargateProfile(ctx context.Context, cluster, name string) (*FargateProfile, error) {
	var got struct {
		Profile FargateProfile `json:"fargateProfile"`
	}
	err := c.rest(ctx, eks, "DescribeFargateProfile", http.MethodGet, clusterPath(cluster, "fargate-profiles", name), nil, &got)
	if err == nil && got.Profile.Name == "" {
		err = unread(eks, "DescribeFargateProfile", "it has no profile")
	}
	return &got.Profile, err
}

// CreateFargateProfile asks for a profile. Its name is alone in the cluster.
func (c *Client) CreateFargateProfile(ctx context.Context, cluster string, in FargateProfile) error {
	return c.rest(ctx, eks, "CreateFargateProfile", http.MethodPost, clusterPath(cluster, "fargate-profiles"), in, nil)
}

// DeleteFargateProfile deletes a profile with the Pods that run by it.
func (c *Client) DeleteFargateProfile(ctx context.Context, cluster, name string) error {
	return gone(c.rest(ctx, eks, "DeleteFargateProfile", http.MethodDelete, clusterPath(cluster, "fargate-profiles", name), nil, nil))
}
