package openstacktest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// bubble runs f with a user of a cloud and its connection.
func bubble(t *testing.T, o ost.Options, f func(t *testing.T, c *ost.Cloud, cl *ost.Client, s *session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := ost.New(o)
		cl := c.Client()
		f(t, c, cl, newSession(t, cl, c.CloudsYAML(ost.URL, "alice")))
	})
}

func makeNetwork(ctx context.Context, s *session) error {
	_, err := networks.Create(ctx, s.network, networks.CreateOpts{Name: "n"}).Extract()
	return err
}

func named(c *ost.Cloud, k ost.Kind, name string) (n int) {
	for _, o := range c.Objects(k) {
		if o.String("name") == name {
			n++
		}
	}
	return n
}

func TestInject(t *testing.T) {
	on := ost.Fault{Service: "network", Method: http.MethodPost, Path: "/networks", Skip: 1, Times: 1}
	cases := map[string]struct {
		change func(f *ost.Fault)
		status int   // of the answer; 0: none
		cause  error // of no answer
		made   int   // of three networks
	}{
		"an answer instead":         {func(f *ost.Fault) { f.Status, f.RetryAfter = 503, 3*time.Second }, 503, nil, 2},
		"the request is lost":       {func(f *ost.Fault) { f.Cut = ost.Before }, 0, syscall.ECONNRESET, 2},
		"the answer is lost":        {func(f *ost.Fault) { f.Cut = ost.After }, 0, syscall.ECONNRESET, 3},
		"no answer, nothing done":   {func(f *ost.Fault) { f.Hang = ost.Before }, 0, context.DeadlineExceeded, 2},
		"no answer, all done":       {func(f *ost.Fault) { f.Hang = ost.After }, 0, context.DeadlineExceeded, 3},
		"of another path":           {func(f *ost.Fault) { f.Status, f.Path = 503, "/networks/*" }, 201, nil, 3},
		"of another service":        {func(f *ost.Fault) { f.Status, f.Service = 503, "compute" }, 201, nil, 3},
		"of another method":         {func(f *ost.Fault) { f.Status, f.Method = 503, http.MethodPut }, 201, nil, 3},
		"of what changes something": {func(f *ost.Fault) { f.Status, f.Changes, f.Method, f.Path, f.Service = 503, true, "", "", "" }, 503, nil, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, ost.Options{}, func(t *testing.T, c *ost.Cloud, cl *ost.Client, s *session) {
				f := on
				tc.change(&f)
				c.Inject(f)
				if err := makeNetwork(t.Context(), s); err != nil {
					t.Fatalf("the first goes well, but %v", err)
				}
				must(networks.List(s.network, nil).AllPages(t.Context()))(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := makeNetwork(ctx, s)
				switch {
				case tc.status == 201:
					if err != nil {
						t.Errorf("second = %v, want no error", err)
					}
				case tc.status > 0:
					e := gophercloud.ErrUnexpectedResponseCode{}
					if !errors.As(err, &e) || e.Actual != tc.status || e.ResponseHeader.Get("Retry-After") != "3" && f.RetryAfter > 0 {
						t.Errorf("second = %v, want %d", err, tc.status)
					}
				case !errors.Is(err, tc.cause):
					t.Errorf("second = %v, want %v", err, tc.cause)
				}
				if err := makeNetwork(t.Context(), s); err != nil {
					t.Errorf("the third goes well, but %v", err)
				}
				if got := named(c, ost.Networks, "n"); got != tc.made {
					t.Errorf("%d networks, want %d", got, tc.made)
				}
			})
		})
	}
}

func TestInjectIsTakenBack(t *testing.T) {
	bubble(t, ost.Options{}, func(t *testing.T, c *ost.Cloud, _ *ost.Client, s *session) {
		remove := c.Inject(ost.Fault{Status: http.StatusServiceUnavailable})
		if err := makeNetwork(t.Context(), s); !gophercloud.ResponseCodeIs(err, http.StatusServiceUnavailable) {
			t.Errorf("with the fault: %v, want 503", err)
		}
		remove()
		if err := makeNetwork(t.Context(), s); err != nil {
			t.Errorf("without the fault: %v", err)
		}
	})
}

func TestDieAt(t *testing.T) {
	for moment, made := range map[ost.Moment]int{ost.Before: 1, ost.After: 2} {
		for name, arm := range map[string]func(cl *ost.Client){
			"all calls": func(cl *ost.Client) { cl.DieAt(3, moment) },
			"changes":   func(cl *ost.Client) { cl.DieAtChange(2, moment) },
		} {
			t.Run(name+" "+string(moment), func(t *testing.T) {
				bubble(t, ost.Options{}, func(t *testing.T, c *ost.Cloud, cl *ost.Client, s *session) {
					arm(cl)
					s.done(makeNetwork(t.Context(), s))
					must(networks.List(s.network, nil).AllPages(t.Context()))(t)
					if err := makeNetwork(t.Context(), s); err == nil || !cl.Dead() {
						t.Errorf("the last call = %v, want an error", err)
					}
					if err := makeNetwork(t.Context(), s); !errors.Is(err, syscall.ECONNREFUSED) {
						t.Errorf("a call of the dead = %v, want refused", err)
					}
					if got := named(c, ost.Networks, "n"); got != made {
						t.Errorf("%d networks, want %d", got, made)
					}
					other := newSession(t, c.Client(), c.CloudsYAML(ost.URL, "carol"))
					s.done(makeNetwork(t.Context(), other))
				})
			})
		}
	}
}

// Listings lag behind what is done; a thing itself does not.
func TestListingLag(t *testing.T) {
	bubble(t, ost.Options{Delays: ost.Delays{Listing: 10 * time.Second}}, func(t *testing.T, _ *ost.Cloud, _ *ost.Client, s *session) {
		n := must(networks.Create(t.Context(), s.network, networks.CreateOpts{Name: "n"}).Extract())(t)
		listed := func() int {
			return len(must(networks.ExtractNetworks(must(networks.List(s.network, networks.ListOpts{Name: "n"}).AllPages(t.Context()))(t)))(t))
		}
		got := []int{listed()}
		must(networks.Get(t.Context(), s.network, n.ID).Extract())(t)
		wait(t, 10*time.Second)
		got = append(got, listed())
		s.done(networks.Delete(t.Context(), s.network, n.ID).ExtractErr())
		got = append(got, listed())
		_, err := networks.Get(t.Context(), s.network, n.ID).Extract()
		s.refused(err, http.StatusNotFound, "network that is gone")
		wait(t, 10*time.Second)
		got = append(got, listed())
		if want := [4]int{0, 1, 1, 0}; [4]int(got) != want {
			t.Errorf("listed after create, lag, delete, lag = %v, want %v", got, want)
		}
	})
}

// Small pages give the whole, each thing once, of each service.
func TestPages(t *testing.T) {
	bubble(t, ost.Options{PageSize: 2}, func(t *testing.T, c *ost.Cloud, cl *ost.Client, s *session) {
		for range 5 {
			c.Add("alpha", ost.Networks, ost.Object{"name": "x"})
			c.Add("alpha", ost.Servers, ost.Object{"name": "x", "created": "2026-01-01T00:00:00Z"})
			c.Add("alpha", ost.LoadBalancers, ost.Object{"name": "x"})
		}
		nets := must(networks.ExtractNetworks(must(networks.List(s.network, networks.ListOpts{Name: "x"}).AllPages(t.Context()))(t)))(t)
		vms := must(servers.ExtractServers(must(servers.List(s.compute, servers.ListOpts{}).AllPages(t.Context()))(t)))(t)
		lbs := must(loadbalancers.ExtractLoadBalancers(must(loadbalancers.List(s.octavia, nil).AllPages(t.Context()))(t)))(t)
		ids := map[string]bool{}
		for i := range nets {
			ids[nets[i].ID] = true
		}
		for i := range vms {
			ids[vms[i].ID] = true
		}
		for i := range lbs {
			ids[lbs[i].ID] = true
		}
		if len(nets) != 5 || len(vms) != 5 || len(lbs) != 5 || len(ids) != 15 {
			t.Errorf("%d networks, %d servers, %d load balancers, %d different, want 5 of each", len(nets), len(vms), len(lbs), len(ids))
		}
		pages := 0
		for _, call := range cl.Calls() {
			if call.Path == "/networks" {
				pages++
			}
		}
		if pages != 3 {
			t.Errorf("%d pages of networks, want 3", pages)
		}
	})
}

// Who has no token, an old one or a revoked one is refused, and authenticates
// anew. Who has another project sees nothing.
func TestTokensAndProjects(t *testing.T) {
	bubble(t, ost.Options{TokenLife: time.Hour}, func(t *testing.T, c *ost.Cloud, cl *ost.Client, s *session) {
		tokens := func() (n int) {
			for _, call := range cl.Calls() {
				if call.Service == "identity" && call.Method == http.MethodPost {
					n++
				}
			}
			return n
		}
		s.done(makeNetwork(t.Context(), s))
		wait(t, 2*time.Hour)
		s.done(makeNetwork(t.Context(), s))
		c.RevokeTokens()
		s.done(makeNetwork(t.Context(), s))
		if got := tokens(); got != 3 {
			t.Errorf("%d tokens, want 3: at first, after the end of the first, after its revocation", got)
		}
		c.SetPassword("alice", "another")
		c.RevokeTokens()
		if err := makeNetwork(t.Context(), s); !gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) && !strings.Contains(err.Error(), "requires authentication") {
			t.Errorf("with an old password: %v, want 401", err)
		}
		bob := newSession(t, c.Client(), c.CloudsYAML(ost.URL, "bob"))
		if got := must(networks.ExtractNetworks(must(networks.List(bob.network, networks.ListOpts{Name: "n"}).AllPages(t.Context()))(t)))(t); len(got) != 0 {
			t.Errorf("bob sees %v of alpha", got)
		}
		s.refused(networks.Delete(t.Context(), bob.network, c.Objects(ost.Networks)[1].ID()).ExtractErr(), http.StatusNotFound, "network of another project")
	})
}

// With sockets the cloud does the same.
func TestOverHTTP(t *testing.T) {
	c := ost.New(ost.Options{})
	server := httptest.NewServer(c)
	defer server.Close()
	s := newSession(t, server.Client().Transport, c.CloudsYAML(server.URL, "alice"))
	s.done(makeNetwork(t.Context(), s))
	c.Inject(ost.Fault{Method: http.MethodPost, Cut: ost.After})
	if err := makeNetwork(t.Context(), s); !errors.Is(err, io.EOF) {
		t.Errorf("with the connection cut: %v, want EOF", err)
	}
	if got := named(c, ost.Networks, "n"); got != 2 {
		t.Errorf("%d networks, want 2", got)
	}
}
