package awstest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Authenticate returns who a token for the API server of a cluster is of, as EKS's webhook finds it by asking STS.
func (c *Cloud) Authenticate(cluster, token string, now time.Time) (who string, err error) {
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "k8s-aws-v1."))
	if err != nil || !strings.HasPrefix(token, "k8s-aws-v1.") {
		return "", fmt.Errorf("%q is no token", token)
	}
	u, err := url.Parse(string(data))
	if err != nil {
		return "", err
	}
	q := u.Query()
	made, err := time.Parse("20060102T150405Z", q.Get("X-Amz-Date"))
	key, _, _ := strings.Cut(q.Get("X-Amz-Credential"), "/")
	c.mu.Lock()
	who, known := c.keys[key]
	c.mu.Unlock()
	switch {
	case err != nil || now.Before(made) || now.After(made.Add(15*time.Minute)):
		return "", fmt.Errorf("the token is of %s", q.Get("X-Amz-Date"))
	case u.Host != "sts."+c.o.Region+".amazonaws.com" || q.Get("Action") != "GetCallerIdentity" || q.Get("X-Amz-Expires") != "60" || q.Get("X-Amz-SignedHeaders") != "host;x-k8s-aws-id":
		return "", fmt.Errorf("the token asks for %s", u)
	case !known:
		return "", fmt.Errorf("the access key %s is not known", key)
	}
	want, err := presign(key, cluster, c.o.Region, made)
	if err != nil || want.Query().Get("X-Amz-Signature") != q.Get("X-Amz-Signature") {
		return "", fmt.Errorf("the signature is for another cluster than %s", cluster)
	}
	return who, nil
}

// presign returns the request to STS that a token for a cluster is.
func presign(key, cluster, region string, at time.Time) (*url.URL, error) {
	secret, session := SecretKey, ""
	if key != AccessKey {
		secret, session = assumedSecret, assumedToken
	}
	r, err := http.NewRequest(http.MethodGet, "https://sts."+region+".amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires=60", http.NoBody) //nolint:noctx // it is not sent
	if err != nil {
		return nil, err
	}
	r.Header.Set("x-k8s-aws-id", cluster)
	const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	signed, _, err := v4.NewSigner().PresignHTTP(r.Context(), aws.Credentials{AccessKeyID: key, SecretAccessKey: secret, SessionToken: session}, r, nothing, "sts", region, at)
	if err != nil {
		return nil, err
	}
	return url.Parse(signed)
}

// Token returns a token for the API server of a cluster, which the owner of an access key makes.
func (c *Cloud) Token(key, cluster string, at time.Time) (string, error) {
	u, err := presign(key, cluster, c.o.Region, at)
	if err != nil {
		return "", err
	}
	return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(u.String())), nil
}
