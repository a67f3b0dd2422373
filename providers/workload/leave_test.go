package workload_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/workload"
)

// TestRemoveMemberLeaves: what is asked after a member went is asked on a new
// connection, as the API server at the end of the old one may be that beside it.
func TestRemoveMemberLeaves(t *testing.T) {
	c := startEtcd(t)
	var dials atomic.Int32
	client := workload.New(workload.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}})
	t.Cleanup(client.Close)
	look := func() int32 {
		t.Helper()
		before := dials.Load()
		if _, err := client.Observe(t.Context(), c.access); err != nil {
			t.Fatal(err)
		}
		return dials.Load() - before
	}
	if n := look(); n != 1 {
		t.Errorf("the first look made %d connections, want one that all its requests share", n)
	}
	if n := look(); n != 0 {
		t.Errorf("a second look made %d connections, want none", n)
	}
	if err := inside.New(client).RemoveMember(t.Context(), c.access, 7); err != nil {
		t.Fatal(err)
	}
	if n := look(); n != 0 {
		t.Errorf("a look after nothing was removed made %d connections, want none", n)
	}
	if err := inside.New(client).RemoveMember(t.Context(), c.access, 1<<63+2); err != nil {
		t.Fatal(err)
	}
	if n := look(); n == 0 {
		t.Error("a look after a member went made no new connection")
	}
}
