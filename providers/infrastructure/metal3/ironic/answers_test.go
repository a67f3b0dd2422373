package ironic_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"fairlead.dev/providers/driver/transport/transporttest"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

// TestAnswers: the kind, the words and the next step of each answer that Ironic may send.
func TestAnswers(t *testing.T) {
	want, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	answers := []transporttest.Answer{{Method: "PUT"}, {Method: "GET"}, {Method: "PUT", Body: "<h1>Bad gateway</h1>"}}
	for _, words := range []string{
		"other words",
		"Node 7 is locked by host ironic",
		"Node 7 is associated with instance 8.",
		"Instance 8 is already associated with a node, it cannot be associated with this other node 7",
		`The requested action "active" can not be performed on node "7" while it is in state "active".`,
		"The provisioning operation can't be performed on node 7 because it's in maintenance mode.",
		"No valid host was found. Reason: none",
		"Node 7 is protected and cannot be undeployed, rebuilt or deleted",
		"Node 7 could not be found.",
		"Port 7 could not be found.",
		"A node: Node 7 could not be found.",
		"Could not find the following interface in the 'ironic.hardware.interfaces.firmware' entrypoint",
		"Node inventory record for node 7 could not be found.",
		"(sqlite3.OperationalError) database is locked",
	} {
		answers = append(answers, transporttest.Answer{Method: "PUT", Body: `{"error_message": {"faultstring": ` + strconv.Quote(words) + `}}`})
	}
	got := transporttest.Table(answers, func(method string, status int, body string) error {
		return ironic.Wrap("do it", gophercloud.ErrUnexpectedResponseCode{Method: method, Actual: status, Body: []byte(body)})
	})
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}
