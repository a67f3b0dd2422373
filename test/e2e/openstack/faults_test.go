package openstack_test

import (
	"strings"
	"testing"

	computequotas "github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"

	"fairlead.dev/fleet"
)

// template is a patch of a cluster's machine templates, all or those of a pool.
func template(spec string) map[string]string {
	return map[string]string{"OpenStackMachineTemplate": "spec:\n  template:\n    spec:\n      " + strings.ReplaceAll(spec, "\n", "\n      ") + "\n"}
}

// told is all that the status says is not as it should be.
func told(r fleet.Report) string {
	var b strings.Builder
	b.WriteString(r.Failure + "\n")
	for _, c := range r.Conditions {
		b.WriteString(c.Message + "\n")
	}
	for _, m := range r.Machines {
		b.WriteString(m.Machine.Message + "\n")
		for _, c := range m.Conditions {
			b.WriteString(c.Message + "\n")
		}
	}
	return b.String()
}

// TestFaults: what a cloud refuses is told in its own words, and the cluster
// comes up once Git asks for something that it can do.
func TestFaults(t *testing.T) {
	w := newWorld(t)
	h := w.newShip("faults")
	wrong := strings.Replace(string(w.cloudsYAML()), "password: "+w.project.Password, "password: wrong", 1)
	cases := []struct {
		reason string
		broken cluster
		yaml   string // its credential, where it is another
		want   string
	}{
		{"a flavor that is not there", cluster{Name: "flavor", Values: map[string]string{"OPENSTACK_CONTROL_PLANE_FLAVOR": "m1.missing"}}, "", "m1.missing"},
		{"an image that is not there", cluster{Name: "image", Values: map[string]string{"OPENSTACK_IMAGE": "missing-image"}}, "", "missing-image"},
		{"no host is large enough", cluster{Name: "huge", Values: map[string]string{"OPENSTACK_CONTROL_PLANE_FLAVOR": "lab.huge"}}, "", "No valid host was found"},
		{"the hypervisor gives up", cluster{Name: "aborts", Values: map[string]string{"OPENSTACK_CONTROL_PLANE_FLAVOR": "lab.aborts"}}, "", "the disk is on fire"},
		{"an external network that is not there", cluster{Name: "network", Values: map[string]string{"OPENSTACK_EXTERNAL_NETWORK": "nowhere"}}, "", "nowhere"},
		{"a kind of port that no host has", cluster{Name: "port", Patches: template("ports:\n- vnicType: direct")}, "", "Exhausted all hosts available"},
		{"an SSH key that is not there", cluster{Name: "key", Values: map[string]string{"OPENSTACK_SSH_KEY": "missing-key"}}, "", "Invalid key_name provided"},
		{"a load balancer that cannot be built", cluster{Name: "lab-error", Components: []string{"load-balancer"}}, "", "ERROR"},
		{"a wrong password", cluster{Name: "password"}, wrong, "The request you have made requires authentication"},
	}
	for i := range cases {
		c := &cases[i].broken
		c.CP, c.Workers = 1, 0
		yaml := w.cloudsYAML()
		if cases[i].yaml != "" {
			yaml = []byte(cases[i].yaml)
		}
		h.repo.put(*c, yaml)
	}
	h.repo.push("clusters that cannot be")
	for _, c := range cases {
		h.waitFor("tells of "+c.reason, c.broken.key(), func(r fleet.Report) bool {
			return strings.Contains(told(r), c.want)
		})
		t.Logf("%s:\n%s", c.reason, describe(h.report(c.broken)))
	}
	var good []cluster
	for _, c := range cases {
		if c.broken.Name == "lab-error" {
			continue // its name is what breaks it
		}
		good = append(good, cluster{Name: c.broken.Name, CP: 1})
	}
	h.put("clusters that can be", good...)
	h.waitComplete(good...)
	h.delete(append(good, cases[7].broken)...)
	w.wantNothingLeft()
}

// TestQuota: a project that is full is told of, what does not fit is not
// half-made, and more room is used.
func TestQuota(t *testing.T) {
	w := newWorld(t)
	h := w.newShip("quota")
	limit := 2
	check(t, w.project.SetComputeQuota(t.Context(), computequotas.UpdateOpts{Instances: &limit}))
	c := cluster{Name: "eu-1", CP: 1, Workers: 3}
	h.put("more than fits", c)
	h.waitFor("tells of the quota", c.key(), func(r fleet.Report) bool {
		return strings.Contains(told(r), "Quota exceeded for instances")
	})
	t.Log(describe(h.report(c)))
	n := 0
	for _, s := range w.servers() {
		if s.Status != "ERROR" { // of those that race, Nova fails some after it took them
			n++
		}
	}
	if n > limit {
		t.Errorf("there are %d servers, want %d at most", n, limit)
	}
	limit = 4
	check(t, w.project.SetComputeQuota(t.Context(), computequotas.UpdateOpts{Instances: &limit}))
	h.waitComplete(c)
	h.delete(c)
	w.wantNothingLeft()
}
