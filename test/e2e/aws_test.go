package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/test/lab/doubles/aws/guests"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// awsInstance is the role of machines that are instances of EC2.
const awsInstance = "aws"

// One machine is a cluster: an instance boots with its metadata and user data, and kubeadm runs on it behind the name
// of a network load balancer.
func TestAWSOne(t *testing.T) {
	a := newAWS(t, 1)
	a.c.ControlPlanes, a.c.Workers = 1, 0
	a.startAgent()
	config := a.reach("a cluster of one", "made")
	a.podsReady(config)
	a.delete()
}

// A cluster on up to seven instances through its life: it grows to three control planes in three zones, is upgraded by a
// minor while a zone has no capacity, a spot instance is reclaimed, and it goes.
func TestAWS(t *testing.T) {
	a := newAWS(t, 7)
	versions := a.lab.Versions()
	if len(versions) < 2 {
		t.Fatalf("machines of the lab have Kubernetes %v alone: `make lab-images` makes two versions", versions)
	}
	a.c.Version, a.c.Extra, a.c.AWS.Spot = versions[1], strings.ReplaceAll(controlPlaneCheck, "three", a.c.Name), true
	a.startAgent()
	config := a.reach("a cluster of one and one", "made")
	a.podsReady(config)
	a.killAgent(a.c)

	a.c.ControlPlanes, a.c.Workers = 3, 3
	a.reach("three control planes and three workers", "scaled to 3+3")
	a.checkZones()
	full := a.cloud.Region() + "b"
	a.cloud.Fill(full, "m5.large")
	a.c.Version = versions[0]
	a.reach("the next minor", "upgraded 3+3 while zone "+full+" has no capacity")
	a.podsReady(config)
	a.reclaim()
	a.killAgent(a.c)
	a.delete()
}

// An awsWorld is a world whose machines are instances of a double of AWS in this process.
type awsWorld struct {
	*world
	cloud  *awstest.Cloud
	guests *guests.Guests
	c      cluster
}

func newAWS(t *testing.T, machines int) *awsWorld {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_AWS") == "" {
		t.Skip("it needs root, images of the lab and minutes: `make e2e-aws` runs it")
	}
	a := &awsWorld{world: newWorld(t, "", slices.Repeat([]string{awsInstance}, machines)...)}
	log, err := os.Create(filepath.Join(a.logs, "guests.log"))
	if err != nil {
		t.Fatal(err)
	}
	say := func(s string) { _, _ = fmt.Fprintln(log, time.Now().Format(time.TimeOnly), s) } // a log
	if a.guests, err = guests.New(a.lab, say); err != nil {
		t.Fatal(err)
	}
	a.cloud = awstest.New(awstest.Options{Place: a.guests.Place, Delays: awstest.Delays{
		Lag: time.Second, Start: 3 * time.Second, Terminate: 2 * time.Second, NAT: 2 * time.Second, Balancer: 3 * time.Second,
	}})
	a.c = cluster{Name: "aws", Template: awsYAML, ControlPlanes: 1, Workers: 1, Version: a.lab.Versions()[0], AWS: &awsAccount{
		Region: a.cloud.Region(),
	}}
	for _, v := range a.lab.Versions() { // as CAPA publishes them
		a.cloud.AddImage("capa-ami-ubuntu-24.04-" + v + "-1770000000")
	}
	api, err := new(net.ListenConfig).Listen(a.ctx, "tcp", lab.Gateway+":0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: a.cloud, ReadHeaderTimeout: time.Minute}
	ctx, cancel := context.WithCancel(context.WithoutCancel(a.ctx))
	var served sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		_ = server.Close()
		served.Wait()
	})
	served.Go(func() { _ = server.Serve(api) }) // ends with Close
	served.Go(func() {
		if err := a.guests.Serve(ctx, a.cloud); err != nil {
			t.Error(err)
		}
	})
	a.resolver = filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(a.resolver, []byte("nameserver "+lab.Gateway+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.flags = append(a.flags, "--aws-tick=2s", "--aws-settle=5s")
	a.env = append(a.env, "FAIRLEAD_AWS_ENDPOINT=http://"+api.Addr().String(), "AWS_ACCESS_KEY_ID="+awstest.AccessKey, "AWS_SECRET_ACCESS_KEY="+awstest.SecretKey)
	return a
}

// reach pushes the cluster as it is to be, waits until it is so, and returns its kubeconfig.
func (a *awsWorld) reach(push, what string) string {
	a.t.Helper()
	a.put(push, a.c)
	r := a.waitComplete(a.c)
	a.measure("%s: push to Provisioned %s", what, since(a.pushed))
	config := a.kubeconfig(a.c)
	a.checkNodes(config, a.c, r)
	return config
}

// checkZones checks that each machine of the control plane is in a zone of its own.
func (a *awsWorld) checkZones() {
	a.t.Helper()
	r, _ := a.report(a.c)
	in := make(map[string]fleet.MachineName)
	for _, m := range r.Machines {
		if !isControlPlane(m) {
			continue
		}
		if other, ok := in[m.Machine.FailureDomain]; ok {
			a.t.Errorf("%s and %s are both in zone %s", m.Machine.Name, other, m.Machine.FailureDomain)
		}
		in[m.Machine.FailureDomain] = m.Machine.Name
	}
}

// reclaim has AWS take a worker of the spot market back. Another one takes its place.
func (a *awsWorld) reclaim() {
	a.t.Helper()
	before, _ := a.report(a.c)
	lost := before.Machines[slices.IndexFunc(before.Machines, func(m fleet.MachineReport) bool { return !isControlPlane(m) })].Machine
	at := time.Now()
	a.cloud.Reclaim(path.Base(string(lost.ProviderID)), "Server.SpotInstanceTermination: Spot instance termination")
	a.wait("another worker than "+string(lost.Name), func() (bool, string) {
		r, _ := a.report(a.c)
		on := slices.ContainsFunc(r.Machines, func(m fleet.MachineReport) bool { return m.Machine.ProviderID == lost.ProviderID })
		return !on && complete(a.c, r), describe(r)
	})
	a.measure("a spot instance that was reclaimed: the cluster is whole %s after", since(at))
}

// delete takes the cluster out of the world, and checks that nothing is left.
func (a *awsWorld) delete() {
	a.t.Helper()
	a.c.Delete = true
	a.put("no cluster", a.c)
	a.waitDeleted(a.c)
	a.measure("deleted %s after the push", since(a.pushed))
	a.wait("machines that are off", func() (bool, string) {
		i := slices.IndexFunc(a.lab.Machines(), (*lab.Machine).On)
		return i < 0, fmt.Sprintf("machine %d is on", i+1)
	})
	if left := a.cloud.Contents(); len(left) > 0 {
		a.t.Errorf("it left %v", left)
	}
	changes := 0
	calls := a.cloud.Calls()
	for _, c := range calls {
		if c.Changes() {
			changes++
		}
	}
	a.measure("%d calls of AWS, of which %d change something", len(calls), changes)
}
