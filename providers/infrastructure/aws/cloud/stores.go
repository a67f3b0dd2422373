package cloud

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Store is where the user data of machines is kept: Secrets Manager, the parameters of SSM, or a bucket of S3.
type Store string

// The stores that each account has.
const (
	SecretsManager Store = "secrets-manager"
	ParameterStore Store = "ssm-parameter-store"
)

// BucketStore is the bucket of that name.
func BucketStore(bucket string) Store { return Store(bucketScheme + bucket) }

const bucketScheme = "s3://"

// bucket returns the name of the bucket that the store is.
func (s Store) bucket() (name string, is bool) { return strings.CutPrefix(string(s), bucketScheme) }

// A Secret is user data, or a part of it, without its content.
type Secret struct {
	Store   Store
	ID      string // its ARN, or the same as Name
	Name    string
	Created time.Time
	Tags    Tags // of Secrets Manager alone: elsewhere the name says whose it is
}

type jsonTag struct{ Key, Value string }

func jsonTags(tags Tags) []jsonTag {
	var out []jsonTag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, jsonTag{k, tags[k]})
	}
	return out
}

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
			out = append(out, Secret{Store: SecretsManager, ID: s.ARN, Name: s.Name, Created: asTime(s.CreatedDate), Tags: tags})
		}
		if got.NextToken == "" {
			return out, nil
		}
		in["NextToken"] = got.NextToken
	}
}

// asTime returns what a number of a JSON API means.
func asTime(seconds float64) time.Time { return time.UnixMilli(int64(seconds * 1000)) }

// Stored returns what a store other than Secrets Manager has, whose names begin with a path. Only the name says whose it is.
// A bucket that is not there has nothing.
func (c *Client) Stored(ctx context.Context, s Store, path string) ([]Secret, error) {
	if bucket, is := s.bucket(); is {
		return c.objects(ctx, bucket, path)
	}
	in := map[string]any{"ParameterFilters": []any{map[string]any{"Key": "Path", "Option": "Recursive", "Values": []string{"/" + strings.TrimSuffix(path, "/")}}}, "MaxResults": 50}
	var out []Secret
	for {
		var got struct {
			Parameters []struct {
				Name             string
				LastModifiedDate float64
			}
			NextToken string
		}
		if err := c.call(ctx, ssm, "DescribeParameters", in, &got); err != nil {
			return nil, err
		}
		if got.Parameters == nil {
			return nil, &Error{Service: ssm.name, Action: "DescribeParameters", Status: http.StatusOK, Message: "its answer has no list"}
		}
		for _, p := range got.Parameters {
			name := strings.TrimPrefix(p.Name, "/")
			out = append(out, Secret{Store: s, ID: name, Name: name, Created: asTime(p.LastModifiedDate)})
		}
		if got.NextToken == "" {
			return out, nil
		}
		in["NextToken"] = got.NextToken
	}
}

// Keep keeps content by a name, which has no slash at its beginning. The same content with the same token is kept once;
// another one takes the place of what is there.
func (c *Client) Keep(ctx context.Context, s Store, name, token string, content []byte, tags Tags) error {
	if bucket, is := s.bucket(); is {
		return c.putObject(ctx, bucket, name, content)
	}
	value := base64.StdEncoding.EncodeToString(content)
	if s == ParameterStore {
		return c.putParameters(ctx, name, value, tags)
	}
	err := c.call(ctx, secretsManager, "CreateSecret", map[string]any{"Name": name, "ClientRequestToken": token, "SecretBinary": value, "Tags": jsonTags(tags)}, nil)
	if Is(err, "ResourceExistsException") {
		return c.call(ctx, secretsManager, "PutSecretValue", map[string]any{"SecretId": name, "ClientRequestToken": token, "SecretBinary": value}, nil)
	}
	return err
}

// largestParameter is how many characters a parameter of the standard tier has at most.
// Source: AWS Systems Manager endpoints and quotas.
const largestParameter = 4096

// parametersOf returns what is kept of a value in parameters: NAME/0 begins with their number and a space.
func parametersOf(value string) []string {
	const head = 4 // of the first one: two digits at most, and a space
	parts := (len(value) + head + largestParameter - 1) / largestParameter
	value = strconv.Itoa(parts) + " " + value
	var out []string
	for i := range parts {
		out = append(out, value[i*largestParameter:min(len(value), (i+1)*largestParameter)])
	}
	return out
}

// putParameters keeps a value in as many parameters as it needs.
func (c *Client) putParameters(ctx context.Context, name, value string, tags Tags) error {
	for i, part := range parametersOf(value) {
		in := map[string]any{"Name": fmt.Sprintf("/%s/%d", name, i), "Type": "SecureString", "Value": part, "Tags": jsonTags(tags)}
		err := c.call(ctx, ssm, "PutParameter", in, nil)
		if Is(err, "ParameterAlreadyExists") {
			delete(in, "Tags") // which it has
			in["Overwrite"] = true
			err = c.call(ctx, ssm, "PutParameter", in, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Kept returns what Keep keeps of content.
func Kept(s Store, name string, content []byte) []Secret {
	if s != ParameterStore {
		return []Secret{{Store: s, ID: name, Name: name}}
	}
	var out []Secret
	for i := range parametersOf(base64.StdEncoding.EncodeToString(content)) {
		part := fmt.Sprintf("%s/%d", name, i)
		out = append(out, Secret{Store: s, ID: part, Name: part})
	}
	return out
}

// Drop deletes what is kept. A secret is deleted at once: its name would not be free for days otherwise.
func (c *Client) Drop(ctx context.Context, s Secret) error {
	if bucket, is := s.Store.bucket(); is {
		return c.deleteObject(ctx, bucket, s.Name)
	}
	if s.Store == ParameterStore {
		return gone(c.call(ctx, ssm, "DeleteParameter", map[string]any{"Name": "/" + s.Name}, nil))
	}
	return gone(c.call(ctx, secretsManager, "DeleteSecret", map[string]any{"SecretId": s.ID, "ForceDeleteWithoutRecovery": true}, nil))
}
