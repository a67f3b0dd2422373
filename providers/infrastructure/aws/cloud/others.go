package cloud

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// A Secret is one of Secrets Manager, without its content.
type Secret struct {
	ID      string // its ARN
	Name    string
	Created time.Time
	Tags    Tags
}

type jsonTag struct{ Key, Value string }

// Secrets returns the secrets that have a tag with that key.
func (c *Client) Secrets(ctx context.Context, key string) ([]Secret, error) {
	in := map[string]any{"Filters": []any{map[string]any{"Key": "tag-key", "Values": []string{key}}}, "MaxResults": 100}
	var out []Secret
	for {
		var got struct {
			SecretList []struct {
				ARN, Name   string
				CreatedDate float64
				Tags        []jsonTag
			}
			NextToken string
		}
		if err := c.call(ctx, secretsManager, "ListSecrets", in, &got); err != nil {
			return nil, err
		}
		if got.SecretList == nil {
			return nil, &Error{Service: secretsManager.name, Action: "ListSecrets", Status: http.StatusOK, Message: "its answer has no list"}
		}
		for _, s := range got.SecretList {
			tags := make(Tags, len(s.Tags))
			for _, t := range s.Tags {
				tags[t.Key] = t.Value
			}
			out = append(out, Secret{ID: s.ARN, Name: s.Name, Created: time.UnixMilli(int64(s.CreatedDate * 1000)), Tags: tags})
		}
		if got.NextToken == "" {
			return out, nil
		}
		in["NextToken"] = got.NextToken
	}
}

// StoreSecret stores a secret of that name. The same content with the same token is stored once; another
// one takes the place of what is there.
func (c *Client) StoreSecret(ctx context.Context, name, token string, content []byte, tags Tags) error {
	var list []jsonTag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, jsonTag{k, tags[k]})
	}
	value := base64.StdEncoding.EncodeToString(content)
	err := c.call(ctx, secretsManager, "CreateSecret", map[string]any{"Name": name, "ClientRequestToken": token, "SecretBinary": value, "Tags": list}, nil)
	if Is(err, "ResourceExistsException") {
		return c.call(ctx, secretsManager, "PutSecretValue", map[string]any{"SecretId": name, "ClientRequestToken": token, "SecretBinary": value}, nil)
	}
	return err
}

// DeleteSecret deletes a secret at once: its name would not be free for days otherwise.
func (c *Client) DeleteSecret(ctx context.Context, id string) error {
	return gone(c.call(ctx, secretsManager, "DeleteSecret", map[string]any{"SecretId": id, "ForceDeleteWithoutRecovery": true}, nil))
}

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
