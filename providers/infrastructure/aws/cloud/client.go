package cloud

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"golang.org/x/time/rate"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// A service is one of AWS that has an API of its own.
type service struct {
	name    string // in signatures and host names
	version string // of a query API; empty: JSON
	target  string // before the names of actions of a JSON API
	paths   bool   // methods and paths say what is asked for, and bodies are JSON
	bucket  string // of S3
	global  bool   // a partition has it once
}

//nolint:gochecknoglobals // constants that Go cannot write as some
var (
	ec2            = service{name: "ec2", version: "2016-11-15"}
	balancing      = service{name: "elasticloadbalancing", version: "2015-12-01"}
	classic        = service{name: "elasticloadbalancing", version: "2012-06-01"}
	iam            = service{name: "iam", version: "2010-05-08", global: true}
	sts            = service{name: "sts", version: "2011-06-15"}
	ssm            = service{name: "ssm", target: "AmazonSSM."}
	eks            = service{name: "eks", paths: true}
	secretsManager = service{name: "secretsmanager", target: "secretsmanager."}
)

// longestAnswer is how many bytes of an answer are read: a page has 1,000 instances of a few kB.
const longestAnswer = 64 << 20

// longestCall is the time limit of a request.
const longestCall = time.Minute

// A Client asks AWS in one region with one credential. It is safe for concurrent use.
type Client struct {
	http        *http.Client
	credentials aws.CredentialsProvider
	region      string
	endpoint    string // of all services; empty: those of the region
	signer      *v4.Signer

	account atomic.Value // a string: whose the credentials are, once that is known

	mu      sync.Mutex
	budgets map[string]*rate.Limiter // by action
	slowed  map[string]time.Time     // when AWS last had too many requests for an action
}

// newClient returns a client.
func newClient(base http.RoundTripper, credentials aws.CredentialsProvider, region, endpoint string) *Client {
	return &Client{
		http:        &http.Client{Transport: base, Timeout: longestCall},
		credentials: credentials, region: region, endpoint: endpoint, signer: v4.NewSigner(), budgets: make(map[string]*rate.Limiter), slowed: make(map[string]time.Time),
	}
}

// suffixes are the domains of partitions, by the beginnings of the names of their regions.
// Source: botocore, endpoints.json.
func suffix(region string) string {
	for _, p := range []struct{ region, domain string }{
		{"cn-", "amazonaws.com.cn"},
		{"us-isob-", "sc2s.sgov.gov"},
		{"us-isof-", "csp.hci.ic.gov"},
		{"us-iso-", "c2s.ic.gov"},
		{"eu-isoe-", "cloud.adc-e.uk"},
		{"eusc-", "amazonaws.eu"},
	} {
		if strings.HasPrefix(region, p.region) {
			return p.domain
		}
	}
	return "amazonaws.com"
}

func (c *Client) url(s service) string {
	if s.bucket != "" {
		return c.urlOfBucket(s)
	}
	if c.endpoint != "" {
		return strings.TrimSuffix(c.endpoint, "/") + "/"
	}
	host := "." + c.region + "." + suffix(c.region)
	if s.global {
		host, _ = globalHome(c.region)
	}
	return "https://" + s.name + host + "/"
}

// Region returns the region that it asks.
func (c *Client) Region() string { return c.region }

// signedFor returns the region in signatures for a service.
func (c *Client) signedFor(s service) string {
	if !s.global {
		return c.region
	}
	_, region := globalHome(c.region)
	return region
}

// budget returns what a client asks for of an action: half of what AWS gives an account, since others
// have the same buckets.
// Source: EC2 developer guide, "Request throttling for the Amazon EC2 API".
func budget(action string) *rate.Limiter {
	switch {
	case action == "RunInstances":
		return rate.NewLimiter(2, 5)
	case action == "TerminateInstances":
		return rate.NewLimiter(10, 50)
	case looks(action):
		return rate.NewLimiter(10, 50)
	}
	return rate.NewLimiter(5, 25)
}

// looks reports whether an action changes nothing.
func looks(action string) bool {
	for _, begin := range []string{"Describe", "Get", "List", "Assume"} {
		if strings.HasPrefix(action, begin) {
			return true
		}
	}
	return false
}

// await waits until the budget of an action has room.
func (c *Client) await(ctx context.Context, action string) error {
	c.mu.Lock()
	l, at := c.budgets[action], c.slowed[action]
	if l == nil || !at.IsZero() && time.Since(at) > slowFor {
		l = budget(action)
		c.budgets[action] = l
		delete(c.slowed, action)
	}
	c.mu.Unlock()
	if err := l.Wait(ctx); err != nil {
		return &transport.UnsentError{Err: err}
	}
	return nil
}

// slowFor is how long an action of which AWS had too many requests is requested more slowly, and slowest how often at least.
// Refusals within underWay are of requests that were under way together.
const (
	slowFor             = 10 * time.Minute
	slowest  rate.Limit = 0.5
	underWay            = time.Second
)

// slow halves the budget of an action, and has requests for it come one by one: a look of several would otherwise fail for ever
// where others take most of the account's.
func (c *Client) slow(action string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.slowed[action]) < underWay {
		return
	}
	l := c.budgets[action]
	l.SetBurst(1)
	l.SetLimit(max(l.Limit()/2, slowest))
	c.slowed[action] = time.Now()
}

// query asks a query API and reads its answer, XML, into out; a *[]byte gets all of it; nil: nothing
// of it is read.
func (c *Client) query(ctx context.Context, s service, action string, in url.Values, out any) error {
	form := url.Values{"Action": {action}, "Version": {s.version}}
	for k, v := range in {
		form[k] = v
	}
	data, err := c.send(ctx, s, action, "", "application/x-www-form-urlencoded; charset=utf-8", []byte(form.Encode()))
	if err != nil {
		return err
	}
	if is := root(data); is != action+"Response" { // a page of what is in the way would be a listing of nothing
		return unread(s, action, fmt.Sprintf("it begins with %q", is))
	}
	if raw, ok := out.(*[]byte); ok {
		*raw = data
		return nil
	}
	if out == nil {
		return nil
	}
	if err := xml.Unmarshal(data, out); err != nil {
		return unread(s, action, err.Error())
	}
	return nil
}

// root returns the name of the first element of XML; empty: there is none.
func root(data []byte) string {
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		t, err := d.Token()
		if err != nil {
			return ""
		}
		if e, ok := t.(xml.StartElement); ok {
			return e.Name.Local
		}
	}
}

// unread says that the answer to an action is none of AWS.
func unread(s service, action, why string) error {
	return &Error{Service: s.name, Action: action, Status: http.StatusOK, Message: "its answer cannot be read: " + why}
}

// call asks a JSON API and reads its answer into out; nil: nothing of it is read.
func (c *Client) call(ctx context.Context, s service, action string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	data, err := c.send(ctx, s, action, s.target+action, "application/x-amz-json-1.1", body)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return unread(s, action, err.Error())
	}
	return nil
}

// rest asks an API of paths, and reads its answer into out; nil: nothing of it is read. A nil in is no body.
func (c *Client) rest(ctx context.Context, s service, action, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	data, err := c.exchange(ctx, s, action, method, path, map[string]string{"Content-Type": "application/json"}, body)
	if err != nil {
		return err
	}
	if out == nil {
		if len(data) > 0 && !json.Valid(data) {
			return unread(s, action, "it is no JSON")
		}
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return unread(s, action, err.Error())
	}
	return nil
}

// send posts one request and returns the body of its answer.
func (c *Client) send(ctx context.Context, s service, action, target, kind string, body []byte) ([]byte, error) {
	header := map[string]string{"Content-Type": kind}
	if target != "" {
		header["X-Amz-Target"] = target
	}
	return c.exchange(ctx, s, action, http.MethodPost, "", header, body)
}

// exchange sends one request and returns the body of its answer. The path has no slash at its beginning.
func (c *Client) exchange(ctx context.Context, s service, action, method, path string, header map[string]string, body []byte) ([]byte, error) {
	if err := c.await(ctx, action); err != nil {
		return nil, &Error{Service: s.name, Action: action, Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url(s)+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	credentials, err := c.retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	var options []func(*v4.SignerOptions)
	if s.bucket != "" {
		req.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
		options = append(options, unescaped)
	}
	if err := c.signer.SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), s.name, c.signedFor(s), time.Now(), options...); err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &Error{Service: s.name, Action: action, Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer))
	if err != nil {
		return nil, &Error{Service: s.name, Action: action, Err: err}
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		err := readError(s, action, resp, data)
		if Is(err, "RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException", "SlowDown") {
			c.slow(action)
		}
		return nil, err
	}
	return data, nil
}

// retrieve returns the credentials.
func (c *Client) retrieve(ctx context.Context) (aws.Credentials, error) {
	out, err := c.credentials.Retrieve(ctx)
	if err != nil && fleet.KindOf(err) == fleet.Unknown {
		err = fleet.Errorf(fleet.Unauthorized, "find credentials of AWS", "%w (give the agent a role or a key, or the cluster an identityRef)", err)
	}
	return out, err
}
