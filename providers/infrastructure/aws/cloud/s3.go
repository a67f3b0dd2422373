package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// A Bucket is one of S3.
type Bucket struct {
	Name   string
	Tags   Tags
	Policy string // JSON; empty: it has none
}

// bucketOf is S3 for one bucket.
func bucketOf(name string) service { return service{name: "s3", bucket: name} }

// object sends a request of S3 about a key of a bucket, or about the bucket where it is empty, and reads its answer, XML, into
// out; nil: nothing of it is read. The action is called as its permission is.
func (c *Client) object(ctx context.Context, action, method, bucket, key string, query url.Values, body []byte, out any) error {
	header := map[string]string{}
	if len(body) > 0 {
		sum := sha256.Sum256(body)
		header["X-Amz-Checksum-Sha256"] = base64.StdEncoding.EncodeToString(sum[:])
	}
	if account, ok := c.account.Load().(string); ok && action != "CreateBucket" { // names are those of all accounts
		header["X-Amz-Expected-Bucket-Owner"] = account
	}
	path := key
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	data, err := c.exchange(ctx, bucketOf(bucket), action, method, path, header, body)
	if err != nil || out == nil {
		return err
	}
	if text, ok := out.(*string); ok {
		*text = string(data)
		return nil
	}
	if err := xml.Unmarshal(data, out); err != nil { // another root is an error, too
		return unread(bucketOf(bucket), action, err.Error())
	}
	return nil
}

// Bucket returns a bucket; nil: there is none of that name in any account.
func (c *Client) Bucket(ctx context.Context, name string) (*Bucket, error) {
	var got struct {
		XMLName xml.Name  `xml:"Tagging"`
		Tags    []jsonTag `xml:"TagSet>Tag"`
	}
	out := &Bucket{Name: name, Tags: make(Tags)}
	err := c.object(ctx, "GetBucketTagging", http.MethodGet, name, "", url.Values{"tagging": {""}}, nil, &got)
	switch {
	case Is(err, "NoSuchBucket"):
		return nil, nil
	case Is(err, "NoSuchTagSet"):
		return out, nil
	case err != nil:
		return nil, err
	}
	for _, t := range got.Tags {
		out.Tags[t.Key] = t.Value
	}
	return out, nil
}

// BucketPolicy returns the policy of a bucket; empty: it has none.
func (c *Client) BucketPolicy(ctx context.Context, name string) (string, error) {
	var out string
	err := gone(c.object(ctx, "GetBucketPolicy", http.MethodGet, name, "", url.Values{"policy": {""}}, nil, &out))
	return out, err
}

// CreateBucket makes a bucket, of which nothing is public.
func (c *Client) CreateBucket(ctx context.Context, name string, tags Tags) error {
	type configuration struct {
		XMLName  xml.Name  `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CreateBucketConfiguration"`
		Location string    `xml:"LocationConstraint,omitempty"`
		Tags     []jsonTag `xml:"Tags>Tag"`
	}
	in := configuration{Location: c.region, Tags: jsonTags(tags)}
	if c.region == "us-east-1" { // which S3 takes for none
		in.Location = ""
	}
	body, err := xml.Marshal(in)
	if err != nil {
		return err
	}
	return c.object(ctx, "CreateBucket", http.MethodPut, name, "", nil, body, nil)
}

// SetBucketPolicy sets the policy of a bucket.
func (c *Client) SetBucketPolicy(ctx context.Context, name, policy string) error {
	return c.object(ctx, "PutBucketPolicy", http.MethodPut, name, "", url.Values{"policy": {""}}, []byte(policy), nil)
}

// DeleteBucket deletes a bucket, which has to be empty.
func (c *Client) DeleteBucket(ctx context.Context, name string) error {
	return gone(c.object(ctx, "DeleteBucket", http.MethodDelete, name, "", nil, nil, nil))
}

func (c *Client) putObject(ctx context.Context, bucket, key string, content []byte) error {
	return c.object(ctx, "PutObject", http.MethodPut, bucket, key, nil, content, nil)
}

func (c *Client) deleteObject(ctx context.Context, bucket, key string) error {
	return gone(c.object(ctx, "DeleteObject", http.MethodDelete, bucket, key, nil, nil, nil))
}

// objects returns what a bucket has whose key begins with a path.
func (c *Client) objects(ctx context.Context, bucket, path string) ([]Secret, error) {
	query := url.Values{"list-type": {"2"}, "prefix": {path}}
	var out []Secret
	for {
		var got struct {
			XMLName xml.Name `xml:"ListBucketResult"`
			All     []struct {
				Key          string
				LastModified time.Time
			} `xml:"Contents"`
			Next string `xml:"NextContinuationToken"`
		}
		err := c.object(ctx, "ListBucket", http.MethodGet, bucket, "", query, nil, &got)
		if IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, o := range got.All {
			out = append(out, Secret{Store: BucketStore(bucket), ID: o.Key, Name: o.Key, Created: o.LastModified})
		}
		if got.Next == "" {
			return out, nil
		}
		query.Set("continuation-token", got.Next)
	}
}

// Presigned returns a URL by which everybody reads an object for a time, by the rights of the agent.
func (c *Client) Presigned(ctx context.Context, bucket, key string, valid time.Duration) (string, error) {
	at := c.url(bucketOf(bucket)) + key + "?" + url.Values{"X-Amz-Expires": {strconv.Itoa(int(valid.Seconds()))}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	credentials, err := c.retrieve(ctx)
	if err != nil {
		return "", err
	}
	out, _, err := c.signer.PresignHTTP(ctx, credentials, req, "UNSIGNED-PAYLOAD", "s3", c.region, time.Now(), unescaped)
	return out, err
}

// unescaped signs paths as S3 reads them: once.
func unescaped(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }

// urlOfBucket is where S3 has a bucket: at a name of its own, unless it has dots, which no certificate matches.
func (c *Client) urlOfBucket(s service) string {
	domain := "s3." + c.region + "." + suffix(c.region) + "/"
	switch {
	case c.endpoint != "":
		return strings.TrimSuffix(c.endpoint, "/") + "/" + s.bucket + "/"
	case !strings.Contains(s.bucket, "."):
		return "https://" + s.bucket + "." + domain
	}
	return "https://" + domain + s.bucket + "/"
}
