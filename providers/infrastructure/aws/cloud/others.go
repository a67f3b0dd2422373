package cloud

import (
	"context"
	"net/url"
	"time"
)

// Parameter returns the value of a parameter of SSM.
func (c *Client) Parameter(ctx context.Context, name string) (string, error) {
	var got struct{ Parameter struct{ Value string } }
	err := c.call(ctx, ssm, "GetParameter", map[string]any{"Name": name}, &got)
	return got.Parameter.Value, err
}

// An Identity is who the credentials are of.
type Identity struct {
	Account string `xml:"GetCallerIdentityResult>Account"`
	ARN     string `xml:"GetCallerIdentityResult>Arn"`
}

// Identity returns whose the credentials are.
func (c *Client) Identity(ctx context.Context) (Identity, error) {
	var got Identity
	err := c.query(ctx, sts, "GetCallerIdentity", nil, &got)
	return got, err
}

// roleCredentials are those of a role.
type roleCredentials struct {
	Key        string    `xml:"AssumeRoleResult>Credentials>AccessKeyId"`
	Secret     string    `xml:"AssumeRoleResult>Credentials>SecretAccessKey"`
	Token      string    `xml:"AssumeRoleResult>Credentials>SessionToken"`
	Expiration time.Time `xml:"AssumeRoleResult>Credentials>Expiration"`
}

func (c *Client) assumeRole(ctx context.Context, form url.Values) (roleCredentials, error) {
	var got roleCredentials
	err := c.query(ctx, sts, "AssumeRole", form, &got)
	return got, err
}
