package openstack_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	texttemplate "text/template"
	"time"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
	"fairlead.dev/providers/workload"
	"fairlead.dev/reconcile"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// A stack is all of Fairlead below the agent, with one agent at a time, and OpenStack's
// fake, whose servers boot in an in-memory cloud.
type stack struct {
	*testing.T
	cloud  *ost.Cloud
	boots  *inmemory.Cloud
	pipes  *inmemory.PipeNetwork
	store  reconcile.SecretStore
	wanted wanted

	booted   map[string]bool
	networks map[string]string

	reconciler *reconcile.Reconciler
	workload   *workload.Client
	provider   *openstack.Provider

	lives fleet.Residence // what the status branch has
	last  reconcile.Result
	did   []string // actions, by kind
	after func()   // called after each pass, if it is there
}

// wanted is what Git has.
type wanted struct {
	Delete  bool
	Forget  string
	Pools   []wantedPool
	Secrets map[string]string // clouds.yaml in base64
}

type wantedPool struct{ Name, Identity string }

// onStack runs f on a stack, whose Git has the Secrets home and roof of project alpha
// and spare of project beta, and a pool in beta.
func onStack(t *testing.T, f func(s *stack)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		pipes := inmemory.NewPipeNetwork()
		s := &stack{
			T: t, pipes: pipes, store: secrets.NewMemory(),
			cloud: ost.New(ost.Options{Delays: ost.Delays{Listing: time.Second, Server: 5 * time.Second, ServerDelete: 2 * time.Second, LoadBalancer: 2 * time.Second}}),
			boots: inmemory.NewCloud(inmemory.CloudOptions{Listen: pipes.Listen, AnyHost: true}), booted: make(map[string]bool), networks: make(map[string]string),
		}
		defer s.boots.Close()
		for _, project := range []string{"alpha", "beta"} {
			n := s.cloud.Add(project, ost.Networks, ost.Object{"name": "theirs", "status": "ACTIVE"})
			s.cloud.Add(project, ost.Subnets, ost.Object{
				"network_id": n, "cidr": "10.9.0.0/24", "ip_version": 4, "allocation_pools": []ost.Object{{"start": "10.9.0.10", "end": "10.9.0.99"}},
			})
		}
		s.wanted = wanted{Pools: []wantedPool{{"spare", "spare"}}, Secrets: map[string]string{"home": s.secret("alice"), "roof": s.secret("carol"), "spare": s.secret("bob")}}
		s.start()
		defer func() { s.end() }()
		f(s)
	})
}

func (s *stack) secret(user string) string {
	return base64.StdEncoding.EncodeToString(s.cloud.CloudsYAML(ost.URL, user))
}

// start begins the life of an agent, which knows what the status branch has.
func (s *stack) start() {
	s.provider = openstack.New(openstack.Options{Cloud: cloud.Options{Tick: 2 * time.Second, Rate: -1, Base: s.cloud.Client()}, Settle: 10 * time.Second})
	s.workload = workload.New(workload.Options{Dial: s.pipes.DialContext})
	s.reconciler = reconcile.New(reconcile.Options{
		Infrastructure: func(string) (providers.Infrastructure, error) { return s.provider, nil },
		Workload:       s.workload, Distributions: providers.Distributions{"KubeadmControlPlane": kubeadm.New(s.workload)}, Secrets: s.store,
	})
}

func (s *stack) end() {
	s.workload.Close()
	s.provider.Close()
}

func (s *stack) cluster() *fleet.Cluster {
	s.Helper()
	var b strings.Builder
	if err := texttemplate.Must(texttemplate.New("").Parse(twoProjects)).Execute(&b, s.wanted); err != nil {
		s.Fatal(err)
	}
	var objects []render.Object
	for doc := range strings.SplitSeq(b.String(), "\n---\n") {
		objects = append(objects, render.Object{File: "all.yaml", YAML: []byte(doc)})
	}
	clusters, problems := decode.New("test", api.Kinds()).Decode("clusters/eu-1", objects)
	if len(problems) > 0 || len(clusters) != 1 {
		s.Fatalf("decoded %d clusters with problems %v", len(clusters), problems)
	}
	return &clusters[0]
}

// pass makes one, and has servers boot.
func (s *stack) pass() {
	s.Helper()
	s.last = s.reconciler.Pass(s.Context(), s.cluster(), fleet.Memory{Residence: s.lives})
	if s.last.Report.Phase != "" {
		s.lives = s.last.Report.Residence
	}
	for _, a := range s.last.Report.Actions {
		s.did = append(s.did, strings.Fields(a)[0])
	}
	if s.after != nil {
		s.after()
	}
	time.Sleep(min(max(s.last.After, time.Second), 5*time.Second))
	s.boot()
}

// until makes passes until done says so.
func (s *stack) until(what string, done func() bool) {
	s.Helper()
	for range 500 {
		if s.pass(); done() {
			return
		}
	}
	s.Fatalf("not %s: phase %s, waiting for %q, failure %v, machines %+v", what, s.last.Plan.Phase, s.last.Plan.Waiting, s.last.Err, s.last.Observed.Infrastructure.Machines)
}

// calm makes passes until all is as Git wants it and stays so.
func (s *stack) calm() {
	s.Helper()
	quiet := 0
	s.until("calm", func() bool {
		quiet++
		if s.last.Plan.Phase != fleet.PhaseProvisioned || len(s.last.Plan.Actions) > 0 || s.last.Err != nil {
			quiet = 0
		}
		return quiet > 5
	})
}

// servers counts those of the pool, which the projects have.
func (s *stack) servers() map[string]int {
	out := make(map[string]int)
	for _, o := range s.cloud.Objects(ost.Servers) {
		if o.Object("metadata").String("fairlead.dev:pool") == "spare" {
			out[o.String("tenant_id")]++
		}
	}
	return map[string]int{"alpha": out[s.cloud.ProjectID("alpha")], "beta": out[s.cloud.ProjectID("beta")]}
}

// left names what Fairlead made in project beta.
func (s *stack) left() (out []string) {
	for _, k := range []ost.Kind{ost.Servers, ost.Ports, ost.Trunks, ost.FloatingIPs, ost.Volumes, ost.SecurityGroups, ost.Routers, ost.LoadBalancers} {
		for _, o := range s.cloud.Objects(k) {
			if o.String("tenant_id") == s.cloud.ProjectID("beta") && o.String("name") != "default" {
				out = append(out, string(k)+" "+o.String("name"))
			}
		}
	}
	return out
}

// places are those that are remembered.
func (s *stack) places() (out []string) {
	for _, p := range s.lives.Places {
		out = append(out, strings.NewReplacer(s.cloud.ProjectID("alpha"), "alpha", s.cloud.ProjectID("beta"), "beta").Replace(p.ID))
	}
	return out
}

func (s *stack) wantPlaces(want ...string) {
	s.Helper()
	if got := s.places(); !slices.Equal(got, want) {
		s.Errorf("it lives in %q, want %q", got, want)
	}
}

// inBeta has the cluster run, with its pool in beta, and forgets how that came about.
func (s *stack) inBeta() {
	s.Helper()
	s.calm()
	if got := s.servers(); got["alpha"] != 0 || got["beta"] != 2 {
		s.Fatalf("servers %v, want two in beta", got)
	}
	s.wantPlaces(home, spare)
	s.did = nil
}

func (s *stack) count(kind string) (n int) {
	for _, k := range s.did {
		if k == kind {
			n++
		}
	}
	return n
}
