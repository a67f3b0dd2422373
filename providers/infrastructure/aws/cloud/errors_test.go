package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// TestKinds: what AWS says is of the kind that decides what is done about it.
func TestKinds(t *testing.T) {
	unsent := &transport.UnsentError{Err: context.DeadlineExceeded}
	lost := &url.Error{Op: "Post", URL: "https://ec2.eu-central-1.amazonaws.com/", Err: errors.New("EOF")}
	for name, tc := range map[string]struct {
		reason string
		err    Error
		want   fleet.ErrorKind
	}{
		"capacity":        {"the next zone is tried", Error{Action: "RunInstances", Status: 500, Code: "InsufficientInstanceCapacity"}, fleet.Exhausted},
		"addresses":       {"the same", Error{Action: "RunInstances", Status: 400, Code: "InsufficientFreeAddressesInSubnet"}, fleet.Exhausted},
		"quota":           {"people raise it", Error{Action: "RunInstances", Status: 400, Code: "VcpuLimitExceeded"}, fleet.Exhausted},
		"too many groups": {"the same, of load balancers", Error{Action: "CreateTargetGroup", Status: 400, Code: "TooManyTargetGroups"}, fleet.Exhausted},
		"throttled":       {"nothing was done, and it ends with limit exceeded", Error{Action: "RunInstances", Status: 503, Code: "RequestLimitExceeded"}, fleet.Unavailable},
		"throttled JSON":  {"the same", Error{Action: "CreateSecret", Status: 400, Code: "ThrottlingException"}, fleet.Unavailable},
		"pending target":  {"it will run", Error{Action: "RegisterTargets", Status: 400, Code: "InvalidTarget"}, fleet.Unavailable},
		"dependency":      {"something else has to go first", Error{Action: "DeleteSubnet", Status: 400, Code: "DependencyViolation"}, fleet.Conflict},
		"other arguments": {"the token is that of another request", Error{Action: "RunInstances", Status: 400, Code: "IdempotentParameterMismatch"}, fleet.Conflict},
		"in use":          {"of addresses", Error{Action: "ReleaseAddress", Status: 400, Code: "InvalidIPAddress.InUse"}, fleet.Conflict},
		"missing":         {"of EC2", Error{Action: "DescribeInstances", Status: 400, Code: "InvalidInstanceID.NotFound"}, fleet.NotFound},
		"missing secret":  {"of JSON", Error{Action: "DeleteSecret", Status: 400, Code: "ResourceNotFoundException"}, fleet.NotFound},
		"no rights":       {"people give them", Error{Action: "RunInstances", Status: 403, Code: "UnauthorizedOperation"}, fleet.Unauthorized},
		"ended key":       {"the same", Error{Action: "DescribeVpcs", Status: 400, Code: "ExpiredToken"}, fleet.Unauthorized},
		"no profile yet":  {"it may just have been made", Error{Action: "RunInstances", Status: 400, Code: "InvalidParameterValue", Message: "Invalid IAM Instance Profile name"}, fleet.Unavailable},
		"mistake":         {"Git is wrong", Error{Action: "RunInstances", Status: 400, Code: "InvalidParameterValue"}, fleet.Invalid},
		"fault, change":   {"it may have been done", Error{Action: "RunInstances", Status: 500, Code: "InternalError"}, fleet.Unanswered},
		"fault, no code":  {"the same, by a proxy", Error{Action: "RunInstances", Status: 502}, fleet.Unanswered},
		"fault, look":     {"nothing was changed", Error{Action: "DescribeVpcs", Status: 500, Code: "InternalError"}, fleet.Unavailable},
		"lost, change":    {"it may have been done", Error{Action: "CreateVpc", Err: lost}, fleet.Unanswered},
		"lost, look":      {"nothing was changed", Error{Action: "DescribeVpcs", Err: lost}, fleet.Unavailable},
		"unsent":          {"it was not done", Error{Action: "CreateVpc", Err: unsent}, fleet.Unavailable},
	} {
		if got := fleet.KindOf(Wrap("x", &tc.err)); got != tc.want {
			t.Errorf("%s: kind %s, want %s: %s", name, got, tc.want, tc.reason)
		}
	}
}

// TestEncodedMessage: what only AWS can read is told to nobody, and the permission that is missing is.
func TestEncodedMessage(t *testing.T) {
	body := `<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>You are not authorized to perform this operation. User: arn:aws:iam::1:user/u is not authorized. Encoded authorization failure message: c2VjcmV0c2VjcmV0</Message></Error></Errors></Response>`
	err := Wrap("create VPC", readError(ec2, "CreateVpc", &http.Response{StatusCode: http.StatusForbidden}, []byte(body)))
	if text := err.Error(); strings.Contains(text, "c2VjcmV0") || !strings.Contains(text, "allow ec2:CreateVpc") || fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("it says %q", text)
	}
}

// TestReadInstances reads what EC2 answers, and tells an answer that broke off.
func TestReadInstances(t *testing.T) {
	const answer = `<?xml version="1.0" encoding="UTF-8"?>
<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><reservationSet><item><reservationId>r-1</reservationId>
<instancesSet><item><instanceId>i-1</instanceId><instanceState><code>16</code><name>running</name></instanceState><instanceType>m6i.large</instanceType><launchTime>2026-11-28T10:00:00.000Z</launchTime>
<placement><availabilityZone>eu-central-1a</availabilityZone><groupName/></placement><privateIpAddress>10.0.0.7</privateIpAddress>
<networkInterfaceSet><item><privateIpAddress>10.0.0.9</privateIpAddress></item></networkInterfaceSet>
<tagSet><item><key>Name</key><value>a &amp; b</value></item><item><key>k</key><value/></item></tagSet></item></instancesSet></item></reservationSet><nextToken>n</nextToken></DescribeInstancesResponse>`
	all, next, whole := readInstances([]byte(answer))
	if len(all) != 1 || next != "n" || !whole {
		t.Fatalf("%+v, next %q, whole %t", all, next, whole)
	}
	i := all[0]
	if i.ID != "i-1" || i.State != "running" || i.Zone != "eu-central-1a" || i.Address != "10.0.0.7" || i.Tags["Name"] != "a & b" || len(i.Tags) != 2 || i.Launched.Hour() != 10 {
		t.Errorf("%+v", i)
	}
	if _, _, whole := readInstances([]byte(answer[:len(answer)-300])); whole {
		t.Error("an answer that broke off counts as whole")
	}
}

// TestBudget: one action has its budget, and others have theirs.
func TestBudget(t *testing.T) {
	if b := budget("RunInstances"); b.Limit() != 2 || b.Burst() != 5 {
		t.Errorf("RunInstances: %v and %d at once", b.Limit(), b.Burst())
	}
	if !looks("DescribeInstances") || looks("DeleteVpc") {
		t.Error("looks are not told from changes")
	}
}

// TestSlow: an action of which AWS has too many requests is slower for some minutes, to a limit, and others are not.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"X-Amzn-Errortype": {"ThrottlingException"}}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
		})
		c := newClient(refused, credentials.NewStaticCredentialsProvider("a", "b", ""), "eu-central-1", "")
		of := func(action string) string {
			_ = c.await(t.Context(), action) // which has no end
			return fmt.Sprint(c.budgets[action].Limit(), c.budgets[action].Burst())
		}
		for range 20 {
			_, _ = c.ManagedCluster(t.Context(), "a") // the refusal
		}
		if got := of("DescribeCluster") + ", " + of("ListAddons"); got != "0.5 1, 10 50" {
			t.Errorf("the budgets are %s", got)
		}
		time.Sleep(11 * time.Minute)
		if got := of("DescribeCluster"); got != "10 50" {
			t.Errorf("later it is %s", got)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
