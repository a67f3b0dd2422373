package cloud_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

const tick = 10 * time.Second

func credential(yaml string) openstackauth.Credential {
	return openstackauth.Credential{
		Secret: fleet.SecretData{openstackauth.CloudsYAMLKey: fleet.NewSecret([]byte(yaml))}, Cloud: "openstack", From: "Secret prod/creds",
	}
}

// inBubble gives f a project of a cloud, and what counts its calls.
func inBubble(t *testing.T, o cloud.Options, f func(t *testing.T, c *ost.Cloud, p *cloud.Project)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := ost.New(ost.Options{})
		o.Base = c.Client()
		if o.Tick == 0 {
			o.Tick = tick
		}
		if o.Rate == 0 {
			o.Rate = -1
		}
		p, err := cloud.NewSessions(o).Project(credential(string(c.CloudsYAML(ost.URL, "alice"))))
		if err != nil {
			t.Fatal(err)
		}
		f(t, c, p)
	})
}

// looks counts the looks since the last time: each lists servers once.
func looks(c *ost.Cloud) int {
	n := 0
	for _, call := range c.Calls() {
		if strings.HasPrefix(call.Path, "/servers/detail") {
			n++
		}
	}
	c.ForgetCalls()
	return n
}

func see(t *testing.T, p *cloud.Project, o snapshot.Owner) *cloud.Snapshot {
	t.Helper()
	s, err := p.Snapshot(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// All clusters share one look, until it is a tick old.
func TestSnapshotIsShared(t *testing.T) {
	inBubble(t, cloud.Options{}, func(t *testing.T, c *ost.Cloud, p *cloud.Project) {
		c.Set(func(o *ost.Options) { o.Delays.Call = 100 * time.Millisecond })
		var wg sync.WaitGroup
		for i := range 200 {
			o := eu1()
			o.Cluster.Name = strings.Repeat("x", i+1)
			wg.Go(func() { see(t, p, o) })
		}
		wg.Wait()
		calls := len(c.Calls())
		if n := looks(c); n != 1 || calls > 25 {
			t.Errorf("200 clusters at once made %d looks with %d calls, want 1 with at most 25", n, calls)
		}
		time.Sleep(tick / 2)
		see(t, p, eu1())
		if n := looks(c); n != 0 {
			t.Errorf("half a tick later: %d looks, want none", n)
		}
		time.Sleep(tick)
		see(t, p, eu1())
		calls = len(c.Calls())
		if n := looks(c); n != 1 || calls > 13 {
			t.Errorf("after a tick: %d looks with %d calls, want 1 with 13", n, calls)
		}
	})
}

// One page that fails fails the whole, and a cell that is down is one.
func TestSnapshotIsWhole(t *testing.T) {
	inBubble(t, cloud.Options{}, func(t *testing.T, c *ost.Cloud, p *cloud.Project) {
		c.Set(func(o *ost.Options) { o.PageSize = 2 })
		for range 5 {
			c.Add("alpha", ost.Servers, ost.Object{"name": "s"})
			c.Add("alpha", ost.Volumes, ost.Object{"name": "v"})
		}
		see(t, p, eu1()) // the first look asks for more than the others
		p.Changed(eu1())
		c.ForgetCalls()
		if s := see(t, p, eu1()); len(s.Servers.All) != 5 || len(s.Volumes.All) != 5 {
			t.Fatalf("%d servers and %d volumes, want 5", len(s.Servers.All), len(s.Volumes.All))
		}
		calls := len(c.Calls())
		if calls < 17 {
			t.Fatalf("%d calls, want one for each kind and two more for the pages of servers and volumes", calls)
		}
		for nth := range calls {
			p.Changed(eu1())
			remove := c.Inject(ost.Fault{Method: http.MethodGet, Skip: nth, Times: 1, Status: http.StatusInternalServerError})
			if s, err := p.Snapshot(t.Context(), eu1()); err == nil {
				t.Errorf("with call %d of %d failing: %d servers and no error", nth+1, calls, len(s.Servers.All))
			}
			remove()
		}
		time.Sleep(2 * tick)
		id := c.Add("alpha", ost.Servers, ost.Object{"name": "s"})
		c.Edit(ost.Servers, id, func(o ost.Object) { o["name"], o["status"] = "", "UNKNOWN" })
		if _, err := p.Snapshot(t.Context(), eu1()); fleet.KindOf(err) != fleet.Unavailable {
			t.Errorf("with a cell down: %v, want kind Unavailable", err)
		}
	})
}

func TestPatience(t *testing.T) {
	for reason, tc := range map[string]struct {
		fault ost.Fault
		kind  fleet.ErrorKind // empty: it goes well
		wait  time.Duration
	}{
		"429 with a time":         {ost.Fault{Status: 429, RetryAfter: 7 * time.Second, Times: 1}, "", 7 * time.Second},
		"503 of a listing":        {ost.Fault{Status: 503, RetryAfter: 2 * time.Second, Times: 2}, "", 4 * time.Second},
		"429 without a time":      {ost.Fault{Status: 429, Times: 2}, "", 3 * time.Second},
		"503 for ever":            {ost.Fault{Status: 503}, fleet.Unavailable, 7 * time.Second},
		"a time that is too long": {ost.Fault{Status: 429, RetryAfter: time.Hour}, fleet.Unavailable, 0},
		"it is just broken":       {ost.Fault{Status: 500, Times: 1}, fleet.Unknown, 0},
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, cloud.Options{}, func(t *testing.T, c *ost.Cloud, p *cloud.Project) {
				see(t, p, eu1())
				p.Changed(eu1())
				tc.fault.Path = "/servers/detail"
				c.Inject(tc.fault)
				began := time.Now()
				_, err := p.Snapshot(t.Context(), eu1())
				if err == nil && tc.kind != "" || err != nil && fleet.KindOf(err) != tc.kind {
					t.Errorf("%v, want kind %q", err, tc.kind)
				}
				if took := time.Since(began); took != tc.wait {
					t.Errorf("took %s, want %s", took, tc.wait)
				}
			})
		})
	}
}

func TestRate(t *testing.T) {
	calls := 0
	var mu sync.Mutex
	inBubble(t, cloud.Options{Rate: 2, Tick: time.Nanosecond, Observe: func(openstackauth.Call) { mu.Lock(); calls++; mu.Unlock() }}, func(t *testing.T, _ *ost.Cloud, p *cloud.Project) {
		began := time.Now()
		for range 4 {
			see(t, p, eu1())
		}
		took := time.Since(began).Seconds()
		if most := 2*took + 6; float64(calls) > most || calls < 40 {
			t.Errorf("%d calls in %gs, want at most %g", calls, took, most)
		}
	})
}

// What an administrator sees of other projects is nobody's, whatever it says of
// itself, as is what others share.
func TestMarksOfOtherProjects(t *testing.T) {
	inBubble(t, cloud.Options{}, func(t *testing.T, c *ost.Cloud, alice *cloud.Project) {
		text := cloud.FormatOwner("", eu1())
		for _, in := range []string{"alpha", "beta"} {
			n := c.Add(in, ost.Networks, ost.Object{"name": in, "description": text, "shared": true})
			c.Add(in, ost.Subnets, ost.Object{"name": in, "description": text, "network_id": n, "cidr": "10.6.0.0/24", "shared": true})
			c.Add(in, ost.Routers, ost.Object{"name": in, "description": text})
			c.Add(in, ost.SecurityGroups, ost.Object{"name": in, "description": text, "shared": true})
		}
		admin, err := cloud.NewSessions(cloud.Options{Base: c.Client(), Rate: -1}).Project(credential(string(c.CloudsYAML(ost.URL, "admin"))))
		if err != nil {
			t.Fatal(err)
		}
		for p, want := range map[*cloud.Project]int{alice: 1, admin: 0} {
			s := see(t, p, eu1())
			if n := len(s.Networks.All); n < 3 {
				t.Errorf("%d networks, want those of others too", n)
			}
			for what, n := range map[string]int{
				"networks": len(s.Networks.Of(eu1())), "subnets": len(s.Subnets.Of(eu1())),
				"routers": len(s.Routers.Of(eu1())), "groups": len(s.SecurityGroups.Of(eu1())),
			} {
				if n != want {
					t.Errorf("%d %s of the cluster, want %d", n, what, want)
				}
			}
		}
	})
}

// A server that got no host is listed without its fault, which is asked for once.
func TestFaultOfAServerWithoutHost(t *testing.T) {
	inBubble(t, cloud.Options{}, func(t *testing.T, c *ost.Cloud, p *cloud.Project) {
		c.Add("alpha", ost.Servers, ost.Object{"name": "theirs", "status": "ERROR", "fault": ost.Object{"message": "No valid host was found.", "code": 500}})
		id := c.Add("alpha", ost.Servers, ost.Object{
			"name": "m-0", "status": "ERROR", "fault": ost.Object{"message": "No valid host was found.", "code": 500},
			"metadata": ost.Object{"fairlead.dev:fleet": "fleet-a", "fairlead.dev:cluster": "prod/eu-1", "fairlead.dev:machine": "m-0"},
		})
		for range 3 {
			if got := see(t, p, eu1()).Servers.Get(id).Fault.Message; got != "No valid host was found." {
				t.Errorf("fault %q, want Nova's words", got)
			}
			time.Sleep(2 * tick)
		}
		gets := 0
		for _, call := range c.Calls() {
			if strings.HasPrefix(call.Path, "/servers/") && call.Path != "/servers/detail" {
				gets++
			}
		}
		if gets != 1 {
			t.Errorf("%d servers were asked for, want one, once", gets)
		}
	})
}

// A credential that names no region may be for the region that another names, and a cloud
// may have two names.
func TestSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ost.New(ost.Options{Regions: []string{"RegionOne", "RegionTwo"}})
		s := cloud.NewSessions(cloud.Options{Base: c.Client(), Rate: -1})
		at := func(url, user, region string) *cloud.Project {
			yaml := strings.ReplaceAll(string(c.CloudsYAML(url, user)), "region_name", "ignored")
			k := credential(yaml)
			k.Region = region
			p, err := s.Project(k)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		open := func(user, region string) *cloud.Project { return at(ost.URL, user, region) }
		one := open("alice", "RegionOne")
		for p, want := range map[*cloud.Project]bool{
			one: true, open("carol", "RegionOne"): true, open("bob", "RegionOne"): false, open("alice", "RegionTwo"): false,
			open("alice", ""): true, at("http://10.0.0.5", "carol", "RegionOne"): true, at("http://10.0.0.5", "alice", ""): true,
			at("http://10.0.0.5", "alice", "RegionTwo"): false, at("http://10.0.0.5", "bob", "RegionOne"): false,
		} {
			if got, err := one.Same(t.Context(), p); err != nil || got != want {
				t.Errorf("region %q: same %v, %v, want %v", p.Region(), got, err, want)
			}
		}
	})
}
