package inmemory

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// overHTTP serves c on a network without sockets and returns a client of it.
func overHTTP(t testing.TB, c *Cloud) *Client {
	t.Helper()
	network := NewPipeNetwork()
	l, err := network.Listen("cloud:80")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: Handler(c), ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	transport := &http.Transport{DialContext: network.DialContext}
	t.Cleanup(func() {
		_ = server.Close()
		<-done
		transport.CloseIdleConnections()
	})
	return &Client{base: "http://cloud:80", http: &http.Client{Transport: transport}}
}

func TestErrorsCrossHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCloud(CloudOptions{Listen: NewPipeNetwork().Listen, Faults: Faults{LoseAnswers: 1}})
		t.Cleanup(c.Close)
		p, cluster := NewProvider(overHTTP(t, c), 0), testCluster()
		err := p.EnsureInfrastructure(t.Context(), "op", &cluster)
		wantKind(t, "ensure with a lost answer", err, fleet.Unanswered,
			"cannot create infrastructure of prod/eu-1: read: connection reset by peer")
		control := p.API().(Control)
		if err := control.SetFaults(t.Context(), Faults{Quota: 1}); err != nil {
			t.Fatal(err)
		}
		r := providers.MachineRequest{
			Cluster: &cluster, Pool: cluster.Workers[0], Name: "m-0",
			UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n"))},
		}
		if err := p.CreateMachine(t.Context(), "op", r); err != nil {
			t.Fatal(err)
		}
		r.Name = "m-1"
		wantKind(t, "create beyond the quota", p.CreateMachine(t.Context(), "op", r), fleet.Exhausted,
			"cannot create machine prod/m-1: 403 Forbidden: quota exceeded")
		if f, err := control.Faults(t.Context()); err != nil || f.Quota != 1 {
			t.Errorf("faults = %+v, %v, want a quota of 1", f, err)
		}
		got, err := p.Observe(t.Context(), &cluster)
		if err != nil || len(got.Machines) != 1 {
			t.Fatalf("machines = %+v, %v, want one", got.Machines, err)
		}
		if m := got.Machines[0].Message; m != "cloud-init: no command of runcmd is kubeadm init or kubeadm join with --config" {
			t.Errorf("message = %q, want the console's", m)
		}
		id := func() string { v, _ := c.VMs(t.Context(), nil); return v[0].ID }()
		if err := control.StopVM(t.Context(), id); err != nil {
			t.Errorf("stop = %v", err)
		}
		if err := control.StartVM(t.Context(), id); err != nil {
			t.Errorf("start = %v", err)
		}
		wantKind(t, "stop of nothing", control.StopVM(t.Context(), "nobody"), fleet.NotFound, "404")
	})
}

// TestClientWithoutCloud: nothing can have been sent.
func TestClientWithoutCloud(t *testing.T) {
	c := &Client{base: "http://cloud:80", http: &http.Client{Transport: &http.Transport{DialContext: NewPipeNetwork().DialContext}}}
	_, err := c.CreateVM(t.Context(), VMSpec{})
	wantKind(t, "create without a cloud", err, fleet.Unavailable, "connection refused")
}

// TestClientLosesConnection: what was sent may have been done.
func TestClientLosesConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := NewPipeNetwork()
		l, err := network.Listen("cloud:80")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			panic(http.ErrAbortHandler)
		})}
		done := make(chan struct{})
		go func() { defer close(done); _ = server.Serve(l) }()
		defer func() { _ = server.Close(); <-done }()
		c := &Client{base: "http://cloud:80", http: &http.Client{Transport: &http.Transport{DialContext: network.DialContext}}}
		wantKind(t, "delete", c.DeleteVM(t.Context(), "x"), fleet.Unanswered, "EOF")
		_, err = c.VMs(t.Context(), nil)
		wantKind(t, "list", err, fleet.Unavailable, "EOF")
	})
}

// serveOnSocket serves a cloud on a real address until it is stopped.
func serveOnSocket(t *testing.T, c *Cloud, at string) (address string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: Handler(c), ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	return l.Addr().String(), func() { _ = server.Close(); <-done }
}

// TestWatchReconnects: over real sockets, a watch outlives its server.
func TestWatchReconnects(t *testing.T) {
	l := newLab(t, CloudOptions{})
	at, stop := serveOnSocket(t, l.Cloud, "127.0.0.1:0")
	client, err := Dial("http://" + at)
	if err != nil {
		t.Fatal(err)
	}
	p := NewProvider(client, 0)
	t.Cleanup(p.Close)
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan fleet.Key, 100), make(chan error, 1)
	go func() { ended <- p.Watch(ctx, func(k fleet.Key) { told <- k }) }()

	// A change before the watch is there is not told of: try until one is.
	awaitTold := func() {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			l.lock()
			l.changed(ownerOf(labTags))
			l.unlock()
			select {
			case k := <-told:
				if k.String() != "prod/eu-1" {
					t.Errorf("told of %s", k)
				}
				return
			case <-tick.C:
			case <-t.Context().Done():
				t.Fatal("never told")
			}
		}
	}
	awaitTold()
	if all, err := client.Networks(t.Context(), labTags); err != nil || len(all) != 1 {
		t.Errorf("networks = %v, %v, want one", all, err)
	}
	stop()
	_, err = client.VMs(t.Context(), nil)
	wantKind(t, "list while nobody listens", err, fleet.Unavailable, "cannot call vms/list")
	for len(told) > 0 {
		<-told
	}
	_, stop = serveOnSocket(t, l.Cloud, at)
	defer stop()
	awaitTold()
	cancel()
	if err := <-ended; err == nil {
		t.Error("a watch whose context ended = no error")
	}
}

// TestUserDataStaysInside: what a machine boots with is in no answer.
func TestUserDataStaysInside(t *testing.T) {
	l := newLab(t, CloudOptions{})
	c := l.pki.initConfig(l.network.Endpoint)
	c.file("/etc/secret", "0600", "very private")
	v := l.boot("cp-0", c)
	at, stop := serveOnSocket(t, l.Cloud, "127.0.0.1:0")
	defer stop()
	for _, path := range []string{"networks/list", "vms/list", "faults/get", "vms/create"} {
		body := `{"id": "` + v.ID + `"}`
		if path == "vms/create" {
			body = `{"name": "x", "network": "` + l.network.ID + `", "userData": "` + base64.StdEncoding.EncodeToString([]byte("very private")) + `"}`
		}
		resp, err := http.Post("http://"+at+"/v1/"+path, "application/json", bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, %v", path, resp.Status, err)
		}
		for _, secret := range []string{"very private", base64.StdEncoding.EncodeToString([]byte("very private")), "PRIVATE KEY", "userData"} {
			if bytes.Contains(answer, []byte(secret)) {
				t.Errorf("%s tells %q: %s", path, secret, answer)
			}
		}
	}
}

// TestClosedCloud: it answers nobody.
func TestClosedCloud(t *testing.T) {
	c := NewCloud(CloudOptions{Listen: NewPipeNetwork().Listen})
	c.Close()
	_, err := c.VMs(t.Context(), nil)
	wantKind(t, "list", err, fleet.Unavailable, "closed")
}

// TestNetworkInUse: a load balancer with members stays.
func TestNetworkInUse(t *testing.T) {
	l := newLab(t, CloudOptions{})
	l.boot("m-0", newConfig("true"))
	wantKind(t, "delete", l.DeleteNetwork(t.Context(), l.network.ID), fleet.Conflict, "it has 1 members")
}
