package openstackauth_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/transport/transporttest"
)

// TestAnswers: the kind, the words and the next step of each answer that OpenStack may send.
func TestAnswers(t *testing.T) {
	want, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := transporttest.Table([]transporttest.Answer{
		{Method: "POST", Body: ""},
		{Method: "GET", Body: ""},
		{Method: "POST", Body: "Quota exceeded for instances"},
		{Method: "POST", Body: "OverLimit"},
		{Method: "POST", Body: "No more IP addresses available on network 6a1."},
		{Method: "POST", Body: "IpAddressGenerationFailure"},
		{Method: "POST", Body: "ip address exhausted"},
		{Method: "POST", Body: "No available IP"},
		{Method: "POST", Body: "There are not enough hosts available."},
		{Method: "POST", Body: "No valid host was found."},
		{Method: "POST", Body: "Invalid key_name provided."},
		{Method: "POST", Body: "Invalid key_name provided: quota"},
		{Method: "DELETE", Body: "Invalid volume: Volume status must be available"},
	}, func(method string, status int, body string) error {
		return openstackauth.Wrap("do it", gophercloud.ErrUnexpectedResponseCode{Method: method, Actual: status, Body: []byte(body)})
	})
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}
