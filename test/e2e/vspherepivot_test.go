package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// The agent moves into a cluster on VMs that it made, and has its control plane grow. The host
// that it runs on is lost: it comes up elsewhere, and has the machine replaced that it ran on.
// Then the fleet comes back, and its home is deleted from outside.
func TestVSpherePivot(t *testing.T) {
	v := newVSphere(t, 5)
	v.guests.Prepare(loadImage)
	v.c.Name, v.c.NoNetwork, v.c.VSphere.Username = "home", true, ""
	v.c.Extra = strings.ReplaceAll(controlPlaneCheck, "three", v.c.Name)
	v.keepCredentials()
	laptop := v.secrets

	v.put("a home of one and one", v.c)
	config := v.bootstrap(v.c)
	v.measure("bootstrap: push to fleet in its home %s", since(v.pushed))
	v.secrets = "kubernetes:" + config
	v.empty(laptop)
	v.waitComplete(v.c)
	v.measure("bootstrap: push to 1+1 Provisioned, the worker by the agent in the home %s", since(v.pushed))
	v.owned("home.prod.home")
	v.podsReady(config)

	v.c.ControlPlanes = 3
	v.put("three control planes", v.c)
	r := v.waitComplete(v.c)
	v.measure("3+1 by the agent in the home: push to Provisioned %s", since(v.pushed))
	v.podsReady(config)
	v.checkNodes(config, v.c, r)
	v.checkApart(r)
	v.loseHost(v.agentsMachine(config, r))
	v.owned("home.prod.home")
	if plan, err := v.plan(); err != nil {
		t.Errorf("the plan is not empty: %v\n%s", err, plan)
	}

	before, _ := v.report(v.c)
	v.secrets = v.rescue(config)
	v.owned("laptop")
	v.same(v.c, before)
	v.delete()
}

// keepCredentials gives those of the vCenter to the secret store.
func (v *vCenterWorld) keepCredentials() {
	v.t.Helper()
	args := []string{"secrets", "set", "prod/vsphere", "--secrets", v.secrets}
	for key, value := range map[string]string{"username": vspheretest.Administrator, "password": vspheretest.Password} {
		file := filepath.Join(v.t.TempDir(), key)
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			v.t.Fatal(err)
		}
		args = append(args, "--from-file", file)
	}
	v.fairlead(args...)
}

// agentsMachine is the one of the control plane that the agent in the home runs on.
func (v *vCenterWorld) agentsMachine(config string, r fleet.Report) fleet.MachineName {
	v.t.Helper()
	out, err := v.kubectl(config, "", "-n", "fairlead-system", "get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}")
	if err != nil {
		v.t.Fatal(err)
	}
	i := slices.IndexFunc(r.Machines, func(m fleet.MachineReport) bool { return isControlPlane(m) && string(m.Machine.Name) == out })
	if i < 0 {
		v.t.Fatalf("the agent runs on %q, which is no machine of the control plane", out)
	}
	return r.Machines[i].Machine.Name
}
