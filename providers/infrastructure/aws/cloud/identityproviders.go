package cloud

import (
	"context"
	"net/http"
)

// An IdentityProvider is one of OpenID Connect whose tokens let people into a cluster. But for its tags it stays as it was made.
type IdentityProvider struct {
	Name           string `json:"identityProviderConfigName"`
	Issuer         string `json:"issuerUrl"`
	Client         string `json:"clientId"`
	UsernameClaim  string `json:"usernameClaim,omitempty"`
	UsernamePrefix string `json:"usernamePrefix,omitempty"`
	GroupsClaim    string `json:"groupsClaim,omitempty"`
	GroupsPrefix   string `json:"groupsPrefix,omitempty"`
	RequiredClaims Tags   `json:"requiredClaims,omitempty"`

	// What EKS answers.
	ARN  string `json:"identityProviderConfigArn,omitempty"`
	Tags Tags   `json:"tags,omitempty"`
}

// An identityProviderName names one in requests.
type identityProviderName struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func nameOfProvider(name string) map[string]any {
	return map[string]any{"identityProviderConfig": identityProviderName{Name: name, Type: "oidc"}}
}

// IdentityProviders returns the names of those of a cluster.
func (c *Client) IdentityProviders(ctx context.Context, cluster string) ([]string, error) {
	var page struct {
		All []identityProviderName `json:"identityProviderConfigs"`
	}
	return c.pages(ctx, "ListIdentityProviderConfigs", clusterPath(cluster, "identity-provider-configs"), func() []string {
		var out []string
		for _, p := range page.All {
			out = append(out, p.Name)
		}
		return out
	}, &page)
}

// IdentityProvider returns one.
func (c *Client) IdentityProvider(ctx context.Context, cluster, name string) (*IdentityProvider, error) {
	var got struct {
		Config struct{ OIDC IdentityProvider } `json:"identityProviderConfig"`
	}
	err := c.rest(ctx, eks, "DescribeIdentityProviderConfig", http.MethodPost, clusterPath(cluster, "identity-provider-configs", "describe"), nameOfProvider(name), &got)
	if err == nil && got.Config.OIDC.Name == "" {
		err = unread(eks, "DescribeIdentityProviderConfig", "it has no identity provider")
	}
	return &got.Config.OIDC, err
}

// AssociateIdentityProvider has a cluster let in those who have tokens of one, which may take half an hour.
func (c *Client) AssociateIdentityProvider(ctx context.Context, cluster string, in IdentityProvider) error {
	tags := in.Tags
	in.Tags = nil
	return c.rest(ctx, eks, "AssociateIdentityProviderConfig", http.MethodPost, clusterPath(cluster, "identity-provider-configs", "associate"), map[string]any{"oidc": in, "tags": tags}, nil)
}

// DisassociateIdentityProvider ends that.
func (c *Client) DisassociateIdentityProvider(ctx context.Context, cluster, name string) error {
	return gone(c.rest(ctx, eks, "DisassociateIdentityProviderConfig", http.MethodPost, clusterPath(cluster, "identity-provider-configs", "disassociate"), nameOfProvider(name), nil))
}
