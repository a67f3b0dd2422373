package maastest_test

import (
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/maas/maastest"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// clientOf returns a client of u.
func clientOf(t *testing.T, r *maastest.Region, u *maastest.User) *region.Client {
	t.Helper()
	credential, err := region.ReadCredential("Secret", maastest.URL, u.Key(), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := region.New(credential, region.Options{Base: r})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLife leads a machine from Ready to Ready, and looks at what it has of its owner on the way.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := maastest.NewRegion()
		r.SetTimes(maastest.Times{Deploy: time.Second, PowerOff: time.Second, Erase: time.Second})
		c := clientOf(t, r, r.AddUser("fleet", false))
		id := r.Add(maastest.Machine{Hostname: "m0"}).SystemID
		ctx := t.Context()
		do := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		is := func(status int, owner, agent string, on bool) {
			t.Helper()
			m, h := r.Machine(id)
			if m.Status != status || m.Owner != owner || m.Agent != agent || h.On != on {
				t.Errorf("machine %+v on %+v, want state %d, owner %q, agent %q, on %t", m, h, status, owner, agent, on)
			}
		}
		do("allocate", c.Allocate(ctx, id, "agent", "tags", region.Constraints{}))
		is(maastest.Allocated, "fleet", "agent", false)
		if text, err := c.CommentOf(ctx, id); err != nil || text != "(fleet) - tags" {
			t.Errorf("the comment is %q, %v", text, err)
		}
		do("annotate", c.Annotate(ctx, id, map[string]string{"fairlead": "x"}))
		if err := region.Wrap("annotate", c.Annotate(ctx, id, map[string]string{"fairlead.dev/fleet": "x"})); fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("a key with a slash: %v", err)
		}
		do("deploy", c.Deploy(ctx, id, "ubuntu/jammy", []byte("data"), false))
		is(maastest.Deploying, "fleet", "agent", true)
		time.Sleep(time.Second)
		is(maastest.Deployed, "fleet", "agent", true)
		do("release", c.Release(ctx, id, region.Erasure{Erase: true}))
		is(maastest.Erasing, "fleet", "agent", true)
		time.Sleep(time.Second)
		is(maastest.Releasing, "fleet", "", true)
		time.Sleep(time.Second)
		is(maastest.Releasing, "fleet", "", false)
		time.Sleep(time.Second)
		is(maastest.Ready, "", "", false)
		if m, h := r.Machine(id); len(m.Annotations) > 0 || h.OnDisk != nil {
			t.Errorf("a release leaves %+v on %+v", m, h)
		}
	})
}

// TestRightsOfOthers: machines of others are not shown, and not changed.
func TestRightsOfOthers(t *testing.T) {
	r := maastest.NewRegion()
	ours, theirs := clientOf(t, r, r.AddUser("fleet", false)), clientOf(t, r, r.AddUser("people", false))
	id := r.Add(maastest.Machine{}).SystemID
	ctx := t.Context()
	if err := theirs.Allocate(ctx, id, "x", "", region.Constraints{}); err != nil {
		t.Fatal(err)
	}
	if all, err := ours.Machines(ctx, region.Filter{}); err != nil || len(all) > 0 {
		t.Errorf("machines of others are shown: %+v, %v", all, err)
	}
	for what, err := range map[string]error{
		"release": ours.Release(ctx, id, region.Erasure{}), "deploy": ours.Deploy(ctx, id, "ubuntu/jammy", nil, false),
		"annotate": ours.Annotate(ctx, id, map[string]string{"a": "b"}), "add a name": ours.AddText(ctx, "a.maas", "x"),
	} {
		if err = region.Wrap(what, err); fleet.KindOf(err) != fleet.Unauthorized {
			t.Errorf("%s of a machine of others: %v (kind %s), want Unauthorized", what, err, fleet.KindOf(err))
		}
	}
}

// TestTraps: what MAAS does, and nobody expects.
func TestTraps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := maastest.NewRegion()
		u := r.AddUser("fleet", true)
		c := clientOf(t, r, u)
		ctx := t.Context()
		manual := r.Add(maastest.Machine{PowerType: "manual"}).SystemID
		if err := c.Deploy(ctx, manual, "ubuntu/jammy", nil, false); err != nil { // of a Ready machine it acquires it
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := c.Release(ctx, manual, region.Erasure{}); err != nil {
			t.Fatal(err)
		}
		if m, h := r.Machine(manual); m.Status != maastest.Ready || !h.On {
			t.Errorf("a machine with manual power is %+v on %+v, want Ready and on", m, h)
		}
		deployed := r.Add(maastest.Machine{}).SystemID
		for range 2 { // the name follows the row of the host
			if err := c.Deploy(ctx, deployed, "jammy", nil, false); err != nil {
				t.Fatal(err)
			}
			m, _ := r.Machine(deployed)
			if addresses, _, ok := r.Lookup("a.maas"); !ok {
				if err := r.AddName("a.maas", m.IP); err != nil {
					t.Fatal(err)
				}
			} else if len(addresses) != 1 || addresses[0] != m.IP {
				t.Errorf("the name leads to %v, want the host that it led to before", addresses)
			}
			time.Sleep(time.Second)
			if err := c.Release(ctx, deployed, region.Erasure{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if err := region.Wrap("deploy", c.Deploy(ctx, deployed, "noble", nil, false)); fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("deploy of no image: %v", err)
		}
		if m, _ := r.Machine(deployed); m.Status != maastest.Ready {
			t.Errorf("after a deployment that was refused the machine is %+v, want Ready", m)
		}
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, maastest.URL+"/api/2.0/vm-hosts/?"+url.Values{}.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := r.RoundTrip(q); err != nil || res.StatusCode != http.StatusUnauthorized {
			t.Errorf("a request without a signature: %+v, %v", res, err)
		}
	})
}
