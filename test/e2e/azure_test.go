package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
	"fairlead.dev/test/lab/doubles/azure/guests"
)

const (
	// azureVM is the role of machines that are VMs of Azure.
	azureVM = "azure"
	// azureSize is the size of all.
	azureSize = "Standard_D4s_v5"
)

// One machine is a cluster: a VM boots with its custom data, reports to the wire server, and kubeadm runs on it behind the
// name of a load balancer.
func TestAzureOne(t *testing.T) {
	a := newAzure(t, 1)
	a.c.ControlPlanes, a.c.Workers = 1, 0
	a.startAgent()
	config := a.reach("a cluster of one", "made")
	a.podsReady(config)
	a.delete()
}

// A cluster on up to seven VMs through its life: it grows to three control planes in three zones, is upgraded by a minor
// while a zone has no capacity, a spot VM is evicted, and it goes.
func TestAzure(t *testing.T) {
	a := newAzure(t, 7)
	versions := a.upgradable()
	a.c.Extra, a.c.Azure.Spot = strings.ReplaceAll(controlPlaneCheck, "three", a.c.Name), true
	a.startAgent()
	config := a.reach("a cluster of one and one", "made")
	a.podsReady(config)
	a.checkJSON()
	a.killAgent(a.c)

	a.c.ControlPlanes, a.c.Workers = 3, 3
	a.reach("three control planes and three workers", "scaled to 3+3")
	a.checkZones()
	a.cloud.Fill(azureSize, "2", "ZonalAllocationFailed", false)
	a.c.Version = versions[0]
	a.reach("the next minor", "upgraded 3+3 while zone 2 has no capacity")
	a.podsReady(config)
	a.lose("a spot VM that was evicted", func(m fleet.Machine) {
		if !a.cloud.Evict(vmOf(m)) {
			t.Fatalf("%s is no spot VM", m.ProviderID)
		}
	})
	a.killAgent(a.c)
	a.delete()
}

// An azureWorld is a world whose machines are VMs of a double of Azure in this process.
type azureWorld struct {
	*cloudWorld
	cloud *azuretest.Cloud
}

func newAzure(t *testing.T, machines int) *azureWorld {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_AZURE") == "" {
		t.Skip("it needs root, images of the lab and minutes: `make e2e-azure` runs it")
	}
	a := &azureWorld{cloudWorld: newCloud(t, azureVM, machines)}
	g, err := guests.New(a.lab, a.sayer())
	if err != nil {
		t.Fatal(err)
	}
	a.cloud = azuretest.New(azuretest.Options{
		Place: g.Place, Lag: time.Second, Make: time.Second, Start: 3 * time.Second, Delete: 2 * time.Second,
	})
	a.c = cluster{Name: "azure", Template: azureYAML, ControlPlanes: 1, Workers: 1, Version: a.lab.Versions()[0], Azure: &azureSubscription{
		Location: azuretest.Location, ID: azuretest.Subscription, Tenant: azuretest.Tenant, Client: azuretest.ClientID, Password: azuretest.Password, Size: azureSize,
	}}
	a.serve(func(ctx context.Context) error { return g.Serve(ctx, a.cloud) })
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, g.Authority(), 0o600); err != nil {
		t.Fatal(err)
	}
	a.flags = append(a.flags, "--azure-tick=2s", "--azure-settle=5s")
	a.env = append(a.env, "SSL_CERT_FILE="+authority)
	return a
}

// vmOf returns the id of the VM that a machine is.
func vmOf(m fleet.Machine) string { return strings.TrimPrefix(string(m.ProviderID), "azure://") }

// checkJSON checks that each machine has azure.json, and that only servers have the password in theirs.
func (a *azureWorld) checkJSON() {
	a.t.Helper()
	r, _ := a.report(a.c)
	for _, m := range r.Machines {
		on, err := a.hostOf(m.Machine)
		if err != nil {
			a.t.Fatal(err)
		}
		text, err := on.Exec(a.ctx, "cat", "/etc/kubernetes/azure.json")
		if err != nil {
			a.t.Fatal(err)
		}
		if !strings.Contains(text, azuretest.Subscription) || strings.Contains(text, azuretest.Password) != isControlPlane(m) {
			a.t.Errorf("azure.json of %s is %s", m.Machine.Name, text)
		}
	}
}

// delete takes the cluster out of the world, and checks that nothing is left.
func (a *azureWorld) delete() {
	a.t.Helper()
	a.cloudWorld.delete()
	if left := a.cloud.Resources(""); len(left) > 0 {
		a.t.Errorf("it left %v", left)
	}
	changes := 0
	calls := a.cloud.Calls()
	for _, c := range calls {
		if c.Changes() {
			changes++
		}
	}
	a.measure("%d calls of Azure, of which %d change something", len(calls), changes)
}
