package maastest_test

import (
	"context"
	"net"
	"testing"

	"fairlead.dev/providers/infrastructure/maas/maastest"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// TestServe: a region answers at an address, and ends with its context.
func TestServe(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := maastest.NewRegion()
	u := r.AddUser("fleet", false)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx, l) }()
	credential, err := region.ReadCredential("Secret", "http://"+l.Addr().String()+"/MAAS", u.Key(), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := region.New(credential, region.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if me, err := c.Me(t.Context()); err != nil || me.Name != "fleet" {
		t.Errorf("the user is %+v, %v", me, err)
	}
	r.Inject(maastest.Fault{Lose: true})
	if _, err := c.Me(t.Context()); err == nil {
		t.Error("an answer that is lost is there")
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

// TestBackup: a database that is restored knows nothing of what hosts did since.
func TestBackup(t *testing.T) {
	r := maastest.NewRegion()
	m := r.Add(maastest.Machine{Hostname: "m0"})
	b := r.Backup()
	r.Change("m0", func(m *maastest.Machine, h *maastest.Host) { m.Status, h.On = maastest.Deployed, true })
	r.Restore(b)
	now, h := r.Machine(m.SystemID)
	if now.Status != maastest.Ready || !h.On || now.Power != "off" {
		t.Errorf("restored is %+v on %+v, want Ready, the power of the backup, and a host that is on", now, h)
	}
	r.Restore(nil)
	if all := r.Machines(); len(all) > 0 {
		t.Errorf("after a loss there is %+v", all)
	}
}
