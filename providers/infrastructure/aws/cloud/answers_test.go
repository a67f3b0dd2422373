package cloud

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"fairlead.dev/fleet"
)

// A page answers each request with a text.
type page200 string

func (p page200) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(p))), Request: r}, nil
}

// TestAnswersOfOthers: what is in the way to AWS answers in its place. That nothing is there is no conclusion from it, and
// a change may have been made.
func TestAnswersOfOthers(t *testing.T) {
	for _, text := range []page200{`<html><body>Please log in</body></html>`, `<?xml version="1.0"?><DescribeVolumesResponse/>`, `{}`, ``} {
		c := newClient(text, credentials.NewStaticCredentialsProvider("a", "b", ""), "eu-central-1", "")
		for name, look := range map[string]func() error{
			"networks":        func() error { _, err := list[VPC, vpcs](t.Context(), c, "DescribeVpcs", nil); return err },
			"instances":       func() error { _, err := c.instances(t.Context(), filter("tag-key", "a")); return err },
			"identity":        func() error { _, err := c.Identity(t.Context()); return err },
			"cluster of EKS":  func() error { _, err := c.ManagedCluster(t.Context(), "a"); return err },
			"node group":      func() error { _, err := c.Nodegroup(t.Context(), "a", "b"); return err },
			"an access entry": func() error { _, err := c.AccessEntry(t.Context(), "a", "b"); return err },
		} {
			if err := look(); err == nil || IsNotFound(err) {
				t.Errorf("%s of %q: %v", name, text, err)
			}
		}
		for name, change := range map[string]func() error{
			"a network":            func() error { _, err := c.CreateVPC(t.Context(), VPCRequest{CIDR: "10.0.0.0/16"}); return err },
			"an instance to go":    func() error { return c.Terminate(t.Context(), "i-1") },
			"a load balancer gone": func() error { return c.DeleteTargetGroup(t.Context(), "a") },
		} {
			if err := change(); Kind(err) != fleet.Unanswered {
				t.Errorf("%s of %q: %v of kind %s", name, text, err, Kind(err))
			}
		}
	}
}

// A counter counts requests, and answers with a text.
type counter struct {
	page200
	forms []url.Values
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(data))
	c.forms = append(c.forms, form)
	if err != nil {
		return nil, err
	}
	return c.page200.RoundTrip(r)
}

// TestManyMarks: a request gives tags to no more things than EC2 takes.
func TestManyMarks(t *testing.T) {
	to := &counter{page200: "<CreateTagsResponse/>"}
	c := newClient(to, credentials.NewStaticCredentialsProvider("a", "b", ""), "eu-central-1", "")
	if err := c.Mark(t.Context(), make([]string, 501), Tags{"a": "1"}); err != nil {
		t.Fatal(err)
	}
	if len(to.forms) != 2 || !to.forms[0].Has("ResourceId.500") || to.forms[1].Has("ResourceId.2") || to.forms[1].Get("Tag.1.Key") != "a" {
		t.Errorf("%d requests", len(to.forms))
	}
}
