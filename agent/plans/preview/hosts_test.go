package preview

import (
	"bytes"
	"strings"
	"testing"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
)

// TestHostsAreToldOnce: clusters that share an inventory are to do the same to it.
func TestHostsAreToldOnce(t *testing.T) {
	t.Parallel()
	p := &Plan{Clusters: 2, at: "main@1"}
	for _, name := range []string{"eu-1", "us-1"} {
		k := fleet.Key{Namespace: "metal", Name: name}
		p.add(k, result{changes: []forecast.Change{
			{Kind: forecast.PrepareHost, Cluster: k, Host: "metal/m1", Reason: "enrol it: it is new in Git"},
			{Kind: forecast.PrepareHost, Cluster: k, Host: "metal/m2", Reason: "inspect it"},
		}})
	}
	var b bytes.Buffer
	if err := p.Write(output.Plain(&b), output.FormatTable); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if strings.Count(got, "metal/m1") != 1 || strings.Count(got, "metal/m2") != 1 || !strings.Contains(got, "enrol it: it is new in Git") || !strings.Contains(got, "prepare 2 hosts") {
		t.Error(got)
	}
}
