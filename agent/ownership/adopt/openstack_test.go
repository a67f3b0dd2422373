package adopt_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// stackKinds are the kinds of objects that a cluster on OpenStack consists of.
var stackKinds = []ost.Kind{
	ost.Networks, ost.Subnets, ost.Routers, ost.SecurityGroups, ost.Ports, ost.FloatingIPs, ost.LoadBalancers, ost.Listeners, ost.Pools, ost.Members, ost.Servers, ost.Volumes,
}

// TestOpenStack adopts a cluster on OpenStack with the program, pushes, runs an agent, and
// scales the cluster. Nothing that was there before is touched.
func TestOpenStack(t *testing.T) {
	s := newStack(t)
	s.serveGit()
	before := s.cloudObjects()
	adopt := append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, s.flags()...)

	s.cloud.ForgetCalls()
	if out := s.fairlead(0, append(adopt, "--dry-run")...); !strings.Contains(out, "1 of 1 cluster: ready to be adopted") || strings.Contains(out, "does not answer here") {
		t.Fatalf("dry run: %s", out)
	}
	if i := slices.IndexFunc(s.cloud.Calls(), ost.Call.Changes); i >= 0 {
		t.Errorf("the dry run changed something: %+v", s.cloud.Calls()[i])
	}
	out := s.fairlead(0, adopt...)
	if !strings.Contains(out, "1 of 1 cluster: adopted") || !s.paused() {
		t.Fatalf("paused there %t: %s", s.paused(), out)
	}
	if left := s.untagged(); len(left) > 0 {
		t.Errorf("%q carry no mark", left)
	}
	s.same(before)
	s.fairlead(0, append([]string{"plan", s.folder}, s.flags()...)...) // exit code 2 would say that there are changes

	s.push("adopted")
	s.cloud.ForgetCalls()
	s.boot()
	s.agent(s.flags()...)
	s.waitProvisioned(3)
	s.same(before)
	for _, c := range s.cloud.Calls() {
		if c.Changes() {
			t.Errorf("the agent changed something: %+v", c)
		}
	}

	file := filepath.Join(s.folder, "clusters", s.ns, "eu-1", "eu-1-md-0.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(data, []byte("replicas: 2"), []byte("replicas: 3"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	s.push("three workers")
	s.waitProvisioned(4)
	s.same(before)
	more := 0
	for _, o := range s.cloud.Objects(ost.Servers) {
		if before[string(ost.Servers)+" "+o.ID()] == "" {
			more++
		}
	}
	if more != 1 {
		t.Errorf("%d servers were made, want one", more)
	}
}

// same fails the test where an object of before is missing or has changed.
func (s *stack) same(before map[string]string) {
	s.Helper()
	now := s.cloudObjects()
	for k, v := range before {
		if now[k] != v {
			s.Errorf("%s was %q, is %q", k, v, now[k])
		}
	}
}
