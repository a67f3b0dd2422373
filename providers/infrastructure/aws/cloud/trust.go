package cloud

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// TokensForSTS is the audience of tokens of service accounts that STS takes.
// Source: EKS user guide, "Create an IAM OIDC provider for your cluster".
const TokensForSTS = "sts.amazonaws.com"

// A Trust is an identity provider of OpenID Connect in IAM: roles may trust tokens of its issuer. One account has one of an
// issuer.
type Trust struct {
	ARN       string
	Audiences []string `xml:"GetOpenIDConnectProviderResult>ClientIDList>member"`
	Tags      Tags
}

// globalHome returns the host of services that a partition has once, after their name, and the region in their signatures.
// Source: botocore, endpoints.json.
func globalHome(region string) (host, signed string) {
	for _, p := range []struct{ region, host, signed string }{
		{"cn-", ".cn-north-1.", "cn-north-1"},
		{"us-gov-", ".us-gov.", "us-gov-west-1"},
		{"us-isob-", ".us-isob-east-1.", "us-isob-east-1"},
		{"us-isof-", ".us-isof-south-1.", "us-isof-south-1"},
		{"us-iso-", ".us-iso-east-1.", "us-iso-east-1"},
		{"eu-isoe-", ".eu-isoe-west-1.", "eu-isoe-west-1"},
		{"eusc-", ".eusc-de-east-1.", "eusc-de-east-1"},
	} {
		if strings.HasPrefix(region, p.region) {
			return p.host + suffix(region), p.signed
		}
	}
	return "." + suffix(region), "us-east-1"
}

// TrustARN returns the ARN of the Trust of an issuer, which is a URL.
func (p *Place) TrustARN(ctx context.Context, issuer string) (string, error) {
	role, err := p.RoleARN(ctx, "/", "")
	return strings.TrimSuffix(role, "role/") + "oidc-provider/" + strings.TrimPrefix(issuer, "https://"), err
}

// Trusts returns the ARNs of all of the account, sorted.
func (c *Client) Trusts(ctx context.Context) ([]string, error) {
	var got struct {
		All []struct{ Arn string } `xml:"ListOpenIDConnectProvidersResult>OpenIDConnectProviderList>member"`
	}
	err := c.query(ctx, iam, "ListOpenIDConnectProviders", nil, &got)
	var out []string
	for _, one := range got.All {
		out = append(out, one.Arn)
	}
	slices.Sort(out)
	return out, err
}

// Trust returns that with an ARN.
func (c *Client) Trust(ctx context.Context, arn string) (*Trust, error) {
	var got struct {
		Trust
		Tags []struct{ Key, Value string } `xml:"GetOpenIDConnectProviderResult>Tags>member"`
	}
	err := c.query(ctx, iam, "GetOpenIDConnectProvider", named(arn), &got)
	out := got.Trust
	out.ARN, out.Tags = arn, make(Tags, len(got.Tags))
	for _, t := range got.Tags {
		out.Tags[t.Key] = t.Value
	}
	return &out, err
}

func named(arn string) url.Values { return url.Values{"OpenIDConnectProviderArn": {arn}} }

// CreateTrust makes one of an issuer, for an audience. IAM knows the authority of the issuer's certificate.
func (c *Client) CreateTrust(ctx context.Context, issuer, audience string, tags Tags) error {
	form := url.Values{"Url": {issuer}, "ClientIDList.member.1": {audience}}
	return c.query(ctx, iam, "CreateOpenIDConnectProvider", marked(form, tags), nil)
}

// marked adds the parameters of tags.
func marked(form url.Values, tags Tags) url.Values {
	for i, k := range slices.Sorted(maps.Keys(tags)) {
		form.Set(fmt.Sprintf("Tags.member.%d.Key", i+1), k)
		form.Set(fmt.Sprintf("Tags.member.%d.Value", i+1), tags[k])
	}
	return form
}

// TagTrust gives one tags.
func (c *Client) TagTrust(ctx context.Context, arn string, tags Tags) error {
	return c.query(ctx, iam, "TagOpenIDConnectProvider", marked(named(arn), tags), nil)
}

// UntagTrust removes tags of one.
func (c *Client) UntagTrust(ctx context.Context, arn string, keys []string) error {
	form := named(arn)
	for i, k := range keys {
		form.Set(fmt.Sprintf("TagKeys.member.%d", i+1), k)
	}
	return c.query(ctx, iam, "UntagOpenIDConnectProvider", form, nil)
}

// AddAudience has one take tokens for an audience, too.
func (c *Client) AddAudience(ctx context.Context, arn, audience string) error {
	form := named(arn)
	form.Set("ClientID", audience)
	return c.query(ctx, iam, "AddClientIDToOpenIDConnectProvider", form, nil)
}

// DeleteTrust deletes one.
func (c *Client) DeleteTrust(ctx context.Context, arn string) error {
	return gone(c.query(ctx, iam, "DeleteOpenIDConnectProvider", named(arn), nil))
}
