package awstest_test

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// A caller asks a cloud with forms. The SDK's own clients do in the module sdk.
type caller struct {
	*testing.T
	url    string
	client *http.Client
	key    string
}

func newCaller(t *testing.T, c *awstest.Cloud) *caller {
	return &caller{t, "http://aws/", &http.Client{Transport: c.Client()}, awstest.AccessKey}
}

// call returns the code of the error, and the body of the answer.
func (c *caller) call(action string, pairs ...string) (code, body string) {
	c.Helper()
	form := url.Values{"Action": {action}, "Version": {"2016-11-15"}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	req, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.url, strings.NewReader(form.Encode()))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.key+"/20261128/eu-central-1/ec2/aws4_request, Signature=x")
	resp, err := c.client.Do(req)
	if err != nil {
		return "lost", ""
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	var failed struct {
		Code string `xml:"Errors>Error>Code"`
	}
	if err := xml.Unmarshal(data, &failed); err != nil {
		c.Fatal(err)
	}
	return failed.Code, string(data)
}

func (c *caller) want(code, action string, pairs ...string) (body string) {
	c.Helper()
	got, body := c.call(action, pairs...)
	if got != code {
		c.Errorf("%s: %q, want %q", action, got, code)
	}
	return body
}

// TestRefusals: what AWS refuses.
func TestRefusals(t *testing.T) {
	cloud := awstest.New(awstest.Options{Limits: map[awstest.Kind]int{awstest.VPCs: 1}})
	c := newCaller(t, cloud)
	vpc, public, _ := cloud.AddVPC("10.1.0.0/16")
	c.want("VpcLimitExceeded", "CreateVpc", "CidrBlock", "10.0.0.0/16")
	c.want("InvalidSubnet.Conflict", "CreateSubnet", "VpcId", vpc, "CidrBlock", "10.1.0.0/24")
	c.want("InvalidSubnetID.NotFound", "DescribeSubnets", "SubnetId.1", public[0], "SubnetId.2", "subnet-missing")
	c.want("InvalidParameterValue", "DescribeSubnets", "Filter.1.Name", "no-such-filter", "Filter.1.Value.1", "x")
	c.want("InvalidAction", "CreateEverything")
	c.want("", "CreateSecurityGroup", "VpcId", vpc, "GroupName", "g")
	c.want("InvalidGroup.Duplicate", "CreateSecurityGroup", "VpcId", vpc, "GroupName", "g")
	cloud.Deny("DescribeVpcs", true)
	if body := c.want("UnauthorizedOperation", "DescribeVpcs"); !strings.Contains(body, "Encoded authorization failure message") {
		t.Error("nothing is encoded")
	}
	c.key = "AKIAUNKNOWN"
	c.want("AuthFailure", "DescribeSubnets")
}

// TestFaults: an answer is lost after the deed, a request before it, and a bucket runs empty.
func TestFaults(t *testing.T) {
	cloud := awstest.New(awstest.Options{})
	c := newCaller(t, cloud)
	for cut, want := range map[awstest.Cut]int{awstest.Before: 0, awstest.After: 1} {
		before := len(cloud.Things(awstest.VPCs))
		end := cloud.Inject(awstest.Fault{Action: "CreateVpc", Times: 1, Cut: cut})
		c.want("lost", "CreateVpc", "CidrBlock", "10.0.0.0/16")
		end()
		if got := len(cloud.Things(awstest.VPCs)) - before; got != want {
			t.Errorf("cut %d: %d VPCs, want %d", cut, got, want)
		}
	}
	cloud.Limit("DescribeVpcs", 1, 0)
	c.want("", "DescribeVpcs")
	c.want("RequestLimitExceeded", "DescribeVpcs")
}

// TestDeath: nothing is heard of a program that died, and its last call was done, or was not.
func TestDeath(t *testing.T) {
	for cut, want := range map[awstest.Cut]int{awstest.Before: 1, awstest.After: 2} {
		cloud := awstest.New(awstest.Options{})
		client := cloud.Client()
		c := &caller{t, "http://aws/", &http.Client{Transport: client}, awstest.AccessKey}
		client.DieAtChange(2, cut)
		c.want("", "CreateVpc", "CidrBlock", "10.0.0.0/16")
		for range 2 {
			c.want("lost", "CreateVpc", "CidrBlock", "10.0.0.0/16")
		}
		c.want("lost", "DescribeVpcs")
		if got := len(cloud.Things(awstest.VPCs)); got != want || !client.Dead() {
			t.Errorf("cut %d: %d VPCs, want %d", cut, got, want)
		}
	}
}

// TestServer: the cloud is an http.Handler, too, and a lost answer closes the connection.
func TestServer(t *testing.T) {
	cloud := awstest.New(awstest.Options{})
	server := httptest.NewServer(cloud)
	defer server.Close()
	c := &caller{t, server.URL, server.Client(), awstest.AccessKey}
	c.want("", "CreateVpc", "CidrBlock", "10.0.0.0/16")
	cloud.Inject(awstest.Fault{Action: "CreateVpc", Cut: awstest.After})
	c.want("lost", "CreateVpc", "CidrBlock", "10.0.0.0/16")
	if got := len(cloud.Things(awstest.VPCs)); got != 2 {
		t.Errorf("%d VPCs, want 2", got)
	}
}

// TestLag: what is new is neither listed nor found by its id for a while.
func TestLag(t *testing.T) {
	cloud := awstest.New(awstest.Options{Delays: awstest.Delays{Lag: time.Hour}})
	c := newCaller(t, cloud)
	c.want("", "CreateVpc", "CidrBlock", "10.0.0.0/16")
	id := cloud.Things(awstest.VPCs)[0].ID
	if body := c.want("", "DescribeVpcs"); strings.Contains(body, id) {
		t.Error("it is listed at once")
	}
	c.want("InvalidVpcID.NotFound", "DescribeVpcs", "VpcId.1", id)
	cloud.Edit(id, func(v *awstest.Thing) { v.Made = v.Made.Add(-2 * time.Hour) })
	c.want("", "DescribeVpcs", "VpcId.1", id)
}

// TestPages: pages have each thing once, and the order changes from listing to listing.
func TestPages(t *testing.T) {
	cloud := awstest.New(awstest.Options{Page: 2})
	cloud.AddVPC("10.1.0.0/16")
	c := newCaller(t, cloud)
	list := func() (ids []string) {
		next := ""
		for {
			var page struct {
				IDs  []string `xml:"subnetSet>item>subnetId"`
				Next string   `xml:"nextToken"`
			}
			pairs := []string{"MaxResults", "100"}
			if next != "" {
				pairs = append(pairs, "NextToken", next)
			}
			if err := xml.Unmarshal([]byte(c.want("", "DescribeSubnets", pairs...)), &page); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, page.IDs...)
			if next = page.Next; next == "" {
				return ids
			}
		}
	}
	orders := make(map[string]bool)
	for range 4 {
		ids := list()
		orders[strings.Join(ids, " ")] = true
		if len(ids) != 6 || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 6 {
			t.Errorf("listed %q", ids)
		}
	}
	if len(orders) < 2 {
		t.Errorf("each listing has the order %q", slices.Collect(maps.Keys(orders)))
	}
}

// TestSecrets: a name that is scheduled for deletion is not free.
func TestSecrets(t *testing.T) {
	cloud := awstest.New(awstest.Options{})
	call := func(action string, in map[string]any) string {
		t.Helper()
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(string(body)))
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+awstest.AccessKey+"/20261128/eu-central-1/secretsmanager/aws4_request")
		req.Header.Set("X-Amz-Target", "secretsmanager."+action)
		w := httptest.NewRecorder()
		cloud.ServeHTTP(w, req)
		var out struct {
			Type string `json:"__type"`
		}
		_ = json.Unmarshal(w.Body.Bytes(), &out)
		return out.Type
	}
	for _, s := range []struct {
		action string
		in     map[string]any
		want   string
	}{
		{"CreateSecret", map[string]any{"Name": "n", "SecretBinary": "eA==", "ClientRequestToken": "1"}, ""},
		{"CreateSecret", map[string]any{"Name": "n", "SecretBinary": "eA==", "ClientRequestToken": "1"}, ""},
		{"CreateSecret", map[string]any{"Name": "n", "SecretBinary": "eQ==", "ClientRequestToken": "2"}, "ResourceExistsException"},
		{"PutSecretValue", map[string]any{"SecretId": "n", "SecretBinary": "eQ==", "ClientRequestToken": "2"}, ""},
		{"DeleteSecret", map[string]any{"SecretId": "n"}, ""},
		{"CreateSecret", map[string]any{"Name": "n", "SecretBinary": "eA=="}, "InvalidRequestException"},
		{"DeleteSecret", map[string]any{"SecretId": "n", "ForceDeleteWithoutRecovery": true}, ""},
		{"CreateSecret", map[string]any{"Name": "n", "SecretBinary": "eA=="}, ""},
		{"GetSecretValue", map[string]any{"SecretId": "missing"}, "ResourceNotFoundException"},
	} {
		if got := call(s.action, s.in); got != s.want {
			t.Errorf("%s %v: %q, want %q", s.action, s.in, got, s.want)
		}
	}
}
