package awstest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// bucketARN begins the ids of buckets and objects.
const bucketARN = "arn:aws:s3:::"

// bucketAction returns what a request to S3 asks for, as its permission is called, with its bucket and its key.
func bucketAction(r *http.Request) (string, url.Values) {
	in := r.URL.Query()
	bucket, _, own := strings.Cut(r.Host, ".s3.")
	key := strings.TrimPrefix(r.URL.Path, "/")
	if !own {
		bucket, key, _ = strings.Cut(key, "/")
	}
	in.Set("bucket", bucket)
	in.Set("key", key)
	verb := map[string]string{http.MethodGet: "Get", http.MethodPut: "Put", http.MethodDelete: "Delete"}[r.Method]
	switch {
	case key != "":
		return verb + "Object", in
	case in.Has("policy"):
		return verb + "BucketPolicy", in
	case in.Has("tagging"):
		return verb + "BucketTagging", in
	case verb == "Put":
		return "CreateBucket", in
	case in.Get("list-type") == "2":
		return "ListBucket", in
	}
	return verb + "Bucket", in
}

func (c *Cloud) s3() map[string]action {
	return map[string]action{
		"CreateBucket": c.createBucket, "DeleteBucket": c.deleteBucket, "GetBucketTagging": c.bucketTagging, "GetBucketPolicy": c.bucketPolicy,
		"PutBucketPolicy": c.putBucketPolicy, "ListBucket": c.listBucket, "PutObject": c.putObject, "DeleteObject": c.deleteObject, "GetObject": c.getObject,
	}
}

// AddBucket adds a bucket of somebody else: of this account, or of another one.
func (c *Cloud) AddBucket(name string, ofAnother bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.addNamed(Buckets, bucketARN+name, map[string]string{"name": name}, nil)
	b.seeded = true
	if ofAnother {
		b.Attr["owner"] = "another"
	}
}

// OpenBucket has a bucket of another account let everybody in.
func (c *Cloud) OpenBucket(name string) {
	c.Edit(bucketARN+name, func(t *Thing) { t.Attr["open"] = "yes" })
}

// AddObject adds an object of somebody else.
func (c *Cloud) AddObject(bucket, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addNamed(Objects, bucketARN+bucket+"/"+key, map[string]string{"bucket": bucket, "key": key}, nil)
}

// ownBucket returns the bucket of a request, which is of this account.
func (c *Cloud) ownBucket(r request) (*Thing, error) {
	b := c.get(Buckets, bucketARN+r.Get("bucket"))
	switch {
	case b == nil:
		return nil, failure{http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist"}
	case b.Attr["owner"] != "" && (b.Attr["open"] == "" || r.owner != ""):
		return nil, failure{http.StatusForbidden, "AccessDenied", "Access Denied"}
	}
	return b, nil
}

// whole reports whether the checksum of a request is that of its body.
func (r request) whole() bool {
	sum := sha256.Sum256(r.raw)
	return r.checksum == base64.StdEncoding.EncodeToString(sum[:])
}

func (c *Cloud) createBucket(r request) (any, error) {
	var in struct {
		XMLName xml.Name                      `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CreateBucketConfiguration"`
		Where   string                        `xml:"LocationConstraint"`
		Tags    []struct{ Key, Value string } `xml:"Tags>Tag"`
	}
	if xml.Unmarshal(r.raw, &in) != nil {
		return nil, failure{http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed"}
	}
	if in.Where != c.o.Region {
		return nil, failure{http.StatusBadRequest, "IllegalLocationConstraintException", "The " + in.Where + " location constraint is incompatible for the region specific endpoint this request was sent to."}
	}
	if b := c.get(Buckets, bucketARN+r.Get("bucket")); b != nil && b.Attr["owner"] != "" {
		return nil, failure{http.StatusConflict, "BucketAlreadyExists", "The requested bucket name is not available."}
	} else if b != nil {
		return nil, failure{http.StatusConflict, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it."}
	}
	b := c.addNamed(Buckets, bucketARN+r.Get("bucket"), map[string]string{"name": r.Get("bucket")}, nil)
	for _, one := range in.Tags {
		b.Tags[one.Key] = one.Value
	}
	return []byte{}, nil
}

func (c *Cloud) deleteBucket(r request) (any, error) {
	b, err := c.ownBucket(r)
	if err != nil {
		return nil, err
	}
	for _, o := range c.all(Objects) {
		if o.Attr["bucket"] == r.Get("bucket") {
			return nil, failure{http.StatusConflict, "BucketNotEmpty", "The bucket you tried to delete is not empty"}
		}
	}
	delete(c.things, b.ID)
	return []byte{}, nil
}

func (c *Cloud) bucketTagging(r request) (any, error) {
	b, err := c.ownBucket(r)
	if err != nil {
		return nil, err
	}
	if len(b.Tags) == 0 {
		return nil, failure{http.StatusNotFound, "NoSuchTagSet", "The TagSet does not exist"}
	}
	out := el("TagSet")
	for k, v := range b.Tags {
		out.kids = append(out.kids, el("Tag", text("Key", k), text("Value", v)))
	}
	return el("Tagging", out), nil
}

func (c *Cloud) bucketPolicy(r request) (any, error) {
	b, err := c.ownBucket(r)
	if err != nil {
		return nil, err
	}
	if b.Attr["policy"] == "" {
		return nil, failure{http.StatusNotFound, "NoSuchBucketPolicy", "The bucket policy does not exist"}
	}
	var out bytes.Buffer
	err = json.Indent(&out, []byte(b.Attr["policy"]), "", "  ") // its text is not what was set
	return out.Bytes(), err
}

// putBucketPolicy refuses roles that are not there: those called missing.
func (c *Cloud) putBucketPolicy(r request) (any, error) {
	b, err := c.ownBucket(r)
	switch {
	case err != nil:
		return nil, err
	case !r.whole():
		return nil, failure{http.StatusBadRequest, "InvalidRequest", "Missing required header for this request: Content-MD5 OR x-amz-checksum-*"}
	case !json.Valid(r.raw) || strings.Contains(string(r.raw), ":role/missing"):
		return nil, failure{http.StatusBadRequest, "MalformedPolicy", "Invalid principal in policy"}
	}
	b.Attr["policy"] = string(r.raw)
	return []byte{}, nil
}

func (c *Cloud) listBucket(r request) (any, error) {
	if _, err := c.ownBucket(r); err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(c.all(Objects), func(o *Thing) bool {
		return o.Attr["bucket"] != r.Get("bucket") || !strings.HasPrefix(o.Attr["key"], r.Get("prefix"))
	})
	paged := r
	paged.Values = map[string][]string{"NextToken": {r.Get("continuation-token")}}
	some, next, err := c.page(paged, found)
	if err != nil {
		return nil, err
	}
	out := el("ListBucketResult", texts("Name", r.Get("bucket"), "IsTruncated", fmt.Sprint(next != ""), "NextContinuationToken", next)...)
	for _, o := range some {
		out.kids = append(out.kids, el("Contents", texts("Key", o.Attr["key"], "LastModified", o.Made.UTC().Format(time.RFC3339))...))
	}
	return out, nil
}

func (c *Cloud) putObject(r request) (any, error) {
	if _, err := c.ownBucket(r); err != nil {
		return nil, err
	}
	if !r.whole() {
		return nil, failure{http.StatusBadRequest, "BadDigest", "The checksum you specified did not match the calculated checksum."}
	}
	id := bucketARN + r.Get("bucket") + "/" + r.Get("key")
	if o := c.get(Objects, id); o != nil {
		o.Attr["content"], o.Made = string(r.raw), time.Now()
		return []byte{}, nil
	}
	c.addNamed(Objects, id, map[string]string{"bucket": r.Get("bucket"), "key": r.Get("key"), "content": string(r.raw)}, nil)
	return []byte{}, nil
}

// deleteObject is done where there is none of that key, too.
func (c *Cloud) deleteObject(r request) (any, error) {
	if _, err := c.ownBucket(r); err != nil {
		return nil, err
	}
	delete(c.things, bucketARN+r.Get("bucket")+"/"+r.Get("key"))
	return []byte{}, nil
}

func (c *Cloud) getObject(r request) (any, error) {
	if _, err := c.ownBucket(r); err != nil {
		return nil, err
	}
	o := c.get(Objects, bucketARN+r.Get("bucket")+"/"+r.Get("key"))
	if o == nil {
		return nil, failure{http.StatusNotFound, "NoSuchKey", "The specified key does not exist."}
	}
	return []byte(o.Attr["content"]), nil
}
