package awstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A failure is an error of the cloud.
type failure struct {
	status        int
	code, message string
}

func (f failure) Error() string { return f.code + ": " + f.message }

func bad(code, format string, args ...any) error {
	return failure{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

// A request is one that the cloud understood.
type request struct {
	url.Values
	body     map[string]any // of JSON
	raw      []byte         // of S3, with its checksum
	checksum string
	owner    string // that a bucket is expected to have
	who      string
	call     Call
}

// list returns prefix.1, prefix.2, and so on.
func (r request) list(prefix string) []string {
	var out []string
	for i := 1; r.Has(fmt.Sprintf("%s.%d", prefix, i)); i++ {
		out = append(out, r.Get(fmt.Sprintf("%s.%d", prefix, i)))
	}
	return out
}

// pairs returns prefix.1.Key with its Value, and so on.
func (r request) pairs(prefix string) map[string]string {
	out := make(map[string]string)
	for i := 1; r.Has(fmt.Sprintf("%s.%d.Key", prefix, i)); i++ {
		out[r.Get(fmt.Sprintf("%s.%d.Key", prefix, i))] = r.Get(fmt.Sprintf("%s.%d.Value", prefix, i))
	}
	return out
}

// tags returns the tags that a request gives things of a type.
func (r request) tags(resource string) map[string]string {
	for i := 1; r.Has(fmt.Sprintf("TagSpecification.%d.ResourceType", i)); i++ {
		if r.Get(fmt.Sprintf("TagSpecification.%d.ResourceType", i)) == resource {
			return r.pairs(fmt.Sprintf("TagSpecification.%d.Tag", i))
		}
	}
	return nil
}

// scope returns the access key, the region and the service of a signature.
func scope(r *http.Request) (key, region, service string) {
	_, after, ok := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	if q := r.URL.Query(); q.Has("X-Amz-Credential") {
		after, ok = q.Get("X-Amz-Credential"), true
	}
	if p := strings.Split(after, "/"); ok && len(p) > 3 {
		return p[0], p[2], p[3]
	}
	return "", "", ""
}

// understand returns what a request asks for.
func understand(r *http.Request, data []byte) request {
	_, _, service := scope(r)
	req := request{Values: url.Values{}}
	switch target := r.Header.Get("X-Amz-Target"); {
	case service == "eks":
		action, in := restAction(r.Method, r.URL.EscapedPath())
		req.call, req.Values = Call{Service: service, Action: action}, in
		maps.Copy(req.Values, r.URL.Query())
		_ = json.Unmarshal(data, &req.body)
	case service == "s3":
		action, in := bucketAction(r)
		req.call, req.Values = Call{Service: service, Action: action, Form: in}, in
		req.raw, req.checksum, req.owner = data, r.Header.Get("X-Amz-Checksum-Sha256"), r.Header.Get("X-Amz-Expected-Bucket-Owner")
	case target != "":
		_, action, _ := strings.Cut(target, ".")
		req.call = Call{Service: service, Action: action}
		_ = json.Unmarshal(data, &req.body) // what is no JSON has no fields
	default:
		req.Values, _ = url.ParseQuery(string(data))
		req.call = Call{Service: service, Action: req.Get("Action"), Form: req.Values}
	}
	return req
}

// errCut says that a call broke off.
var errCut = errors.New("the connection was cut")

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, header, body, err := c.serve(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), header)
	w.WriteHeader(status)
	_, _ = w.Write(body) // who does not listen any more is not answered
}

// serve answers a request. An error says that it broke off.
func (c *Cloud) serve(r *http.Request) (status int, header http.Header, answer []byte, err error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, nil, nil, err
	}
	key, region, _ := scope(r)
	req := understand(r, data)
	c.mu.Lock()
	req.call.N = len(c.calls) + 1
	c.calls = append(c.calls, req.call)
	faults := c.hit(req.call)
	c.mu.Unlock()
	for _, f := range faults {
		if f.Do != nil {
			f.Do(req.call)
		}
	}
	if slices.ContainsFunc(faults, func(f *fault) bool { return f.Cut == Before }) {
		return 0, nil, nil, errCut
	}
	out, failed := c.answer(req, key, region, faults)
	if slices.ContainsFunc(faults, func(f *fault) bool { return f.Cut == After }) {
		return 0, nil, nil, errCut
	}
	status, kind, answer := encode(req.call, out, failed)
	header = http.Header{"Content-Type": {kind}}
	if f, ok := errors.AsType[failure](failed); ok && req.call.Service == "eks" {
		header.Set("X-Amzn-ErrorType", f.code+":http://internal.amazon.com/coral/com.amazon.eks/")
	}
	return status, header, answer, nil
}

// answer does what a request asks for.
func (c *Cloud) answer(req request, key, region string, faults []*fault) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range faults {
		if f.Status != 0 {
			return nil, failure{f.Status, f.Code, f.Message}
		}
	}
	who, known := c.keys[key]
	if !known {
		code := "AuthFailure"
		if req.call.Service != "ec2" {
			code = "InvalidClientTokenId"
		}
		return nil, failure{http.StatusForbidden, code, "AWS was not able to validate the provided access credentials"}
	}
	if home := map[bool]string{false: c.o.Region, true: globalRegion}[req.call.Service == "iam"]; region != home {
		return nil, failure{http.StatusForbidden, "SignatureDoesNotMatch", "Credential should be scoped to a valid region."}
	}
	if b := c.buckets[req.call.Action]; b != nil && !b.take(time.Now()) {
		return nil, failure{http.StatusServiceUnavailable, "RequestLimitExceeded", "Request limit exceeded."}
	}
	if c.denied[req.call.Action] {
		return nil, refusal(req.call, who)
	}
	req.who = who
	do, ok := c.can[req.call.Service+" "+req.action()]
	if !ok {
		return nil, bad("InvalidAction", "The action %s is not valid for this web service.", req.call.Action)
	}
	return c.once(req, do)
}

// action returns the action of a request; those of classic load balancers have a version of their own.
func (r request) action() string {
	if r.call.Service == "elasticloadbalancing" && r.Get("Version") == "2012-06-01" {
		return "classic " + r.call.Action
	}
	return r.call.Action
}

func refusal(call Call, who string) error {
	if call.Service == "ec2" {
		return failure{http.StatusForbidden, "UnauthorizedOperation", "You are not authorized to perform this operation. User: " + who +
			" is not authorized to perform: ec2:" + call.Action + " because no identity-based policy allows the ec2:" + call.Action +
			" action. Encoded authorization failure message: " + strings.Repeat("x9Kq", 150)}
	}
	code := "AccessDenied"
	if call.Form == nil {
		code = "AccessDeniedException"
	}
	return failure{http.StatusForbidden, code, "User: " + who + " is not authorized to perform: " + call.Service + ":" + call.Action + " because no identity-based policy allows it"}
}

// encode writes an answer in the protocol of the service.
func encode(call Call, out any, err error) (status int, kind string, body []byte) {
	var b bytes.Buffer
	failed, _ := errors.AsType[failure](err)
	if err != nil && failed.status == 0 {
		failed = failure{http.StatusInternalServerError, "InternalError", err.Error()}
	}
	switch {
	case call.Form == nil && err != nil:
		body, _ = json.Marshal(map[string]string{"__type": failed.code, "Message": failed.message})
		return failed.status, "application/x-amz-json-1.1", body
	case call.Form == nil:
		body, _ = json.Marshal(out)
		return http.StatusOK, "application/x-amz-json-1.1", body
	case err != nil && call.Service == "s3":
		el("Error", text("Code", failed.code), text("Message", failed.message)).write(&b)
		return failed.status, "application/xml", b.Bytes()
	case err != nil && call.Service == "ec2":
		el("Response", el("Errors", el("Error", text("Code", failed.code), text("Message", failed.message))), text("RequestID", "r")).write(&b)
		return failed.status, "text/xml", b.Bytes()
	case err != nil:
		el("ErrorResponse", el("Error", text("Type", "Sender"), text("Code", failed.code), text("Message", failed.message)), text("RequestId", "r")).write(&b)
		return failed.status, "text/xml", b.Bytes()
	}
	switch out := out.(type) {
	case []byte:
		return http.StatusOK, "application/octet-stream", out
	case node:
		out.write(&b)
		return http.StatusOK, "application/xml", b.Bytes()
	}
	kids, _ := out.([]node)
	if call.Service == "ec2" {
		el(call.Action+"Response", append([]node{text("requestId", "r")}, kids...)...).write(&b)
	} else {
		el(call.Action+"Response", el(call.Action+"Result", kids...), el("ResponseMetadata", text("RequestId", "r"))).write(&b)
	}
	return http.StatusOK, "text/xml", b.Bytes()
}

// A Client is an http.RoundTripper to the cloud, without a network. It is one program: it may die.
type Client struct {
	cloud *Cloud

	mu    sync.Mutex
	calls int // that change something
	dieAt int
	cut   Cut
	dead  bool
}

var _ http.RoundTripper = (*Client)(nil)

// Client returns a new one.
func (c *Cloud) Client() *Client { return &Client{cloud: c} }

// DieAtChange has the program die at its nth call that changes something: it sends nothing after that.
func (c *Client) DieAtChange(n int, cut Cut) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dieAt, c.cut = n, cut
}

// Dead reports whether the program died.
func (c *Client) Dead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// Changes returns how many calls changed something.
func (c *Client) Changes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// RoundTrip implements http.RoundTripper.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var data []byte
	if r.Body != nil {
		var err error
		if data, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	dies := Whole
	c.mu.Lock()
	if understand(r, data).call.Changes() {
		if c.calls++; c.calls == c.dieAt {
			c.dead, dies = true, c.cut
		}
	}
	dead := c.dead
	c.mu.Unlock()
	if dead && dies != After {
		return nil, errCut
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(data))
	status, header, body, err := c.cloud.serve(again)
	if err != nil || dies == After {
		return nil, errCut
	}
	w := httptest.NewRecorder()
	maps.Copy(w.Header(), header)
	w.WriteHeader(status)
	_, _ = w.Write(body)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}
