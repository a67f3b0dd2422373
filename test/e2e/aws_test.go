package e2e

import (
	"context"
	"net"
	"net/http"
	"os"
	"path"
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
	versions := a.upgradable()
	a.c.Extra, a.c.AWS.Spot = strings.ReplaceAll(controlPlaneCheck, "three", a.c.Name), true
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
	a.lose("a spot instance that was reclaimed", func(m fleet.Machine) {
		a.cloud.Reclaim(path.Base(string(m.ProviderID)), "Server.SpotInstanceTermination: Spot instance termination")
	})
	a.killAgent(a.c)
	a.delete()
}

// An awsWorld is a world whose machines are instances of a double of AWS in this process.
type awsWorld struct {
	*cloudWorld
	cloud *awstest.Cloud
}

func newAWS(t *testing.T, machines int) *awsWorld {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_AWS") == "" {
		t.Skip("it needs root, images of the lab and minutes: `make e2e-aws` runs it")
	}
	a := &awsWorld{cloudWorld: newCloud(t, awsInstance, machines)}
	g, err := guests.New(a.lab, a.sayer())
	if err != nil {
		t.Fatal(err)
	}
	a.cloud = awstest.New(awstest.Options{Place: g.Place, Delays: awstest.Delays{
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
	var served sync.WaitGroup
	t.Cleanup(func() {
		_ = server.Close()
		served.Wait()
	})
	served.Go(func() { _ = server.Serve(api) }) // ends with Close
	a.serve(func(ctx context.Context) error { return g.Serve(ctx, a.cloud) })
	a.flags = append(a.flags, "--aws-tick=2s", "--aws-settle=5s")
	a.env = append(a.env, "FAIRLEAD_AWS_ENDPOINT=http://"+api.Addr().String(), "AWS_ACCESS_KEY_ID="+awstest.AccessKey, "AWS_SECRET_ACCESS_KEY="+awstest.SecretKey)
	return a
}

// delete takes the cluster out of the world, and checks that nothing is left.
func (a *awsWorld) delete() {
	a.t.Helper()
	a.cloudWorld.delete()
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
