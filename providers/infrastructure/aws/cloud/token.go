package cloud

import (
	"context"
	"encoding/base64"
	"net/http"
	"time"
)

// A token of EKS is a request that was signed for somebody else to send. It is good for 15 minutes from the time
// in it; how long its signature is said to be good does not matter.
// Source: EKS user guide, "Cluster authentication"; aws-iam-authenticator, pkg/token/token.go.
const (
	tokenPrefix  = "k8s-aws-v1."
	tokenLife    = 15 * time.Minute
	tokenExpires = "60"
	tokenCluster = "x-k8s-aws-id"
	emptyBody    = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of nothing
)

// Token returns a token for the API server of a cluster, and when it ends. It makes no request, but perhaps one for
// the credentials.
func (c *Client) Token(ctx context.Context, cluster string, now time.Time) (token string, ends time.Time, err error) {
	credentials, err := c.retrieve(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	at := "https://" + sts.name + "." + c.region + "." + suffix(c.region) + "/?Action=GetCallerIdentity&Version=" + sts.version + "&X-Amz-Expires=" + tokenExpires
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", time.Time{}, err
	}
	req.Header.Set(tokenCluster, cluster)
	signed, _, err := c.signer.PresignHTTP(ctx, credentials, req, emptyBody, sts.name, c.region, now)
	if err != nil {
		return "", time.Time{}, err
	}
	ends = now.Add(tokenLife)
	if credentials.CanExpire && credentials.Expires.Before(ends) {
		ends = credentials.Expires
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(signed)), ends, nil
}
