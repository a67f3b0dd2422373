package openstack_test

import (
	"encoding/base64"
	"fmt"
	"net"
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

// twoProjects is a cluster with workers in the project of the identity Spare, if any.
const twoProjects = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: eu-1
  namespace: prod
  annotations: {fairlead.dev/delete: "{{.Delete}}", fairlead.dev/forget-place: "{{.Forget}}"}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackCluster
metadata: {name: eu-1, namespace: prod}
spec:
  identityRef: {name: home, cloudName: openstack}
  managedSubnets: [{cidr: 10.6.0.0/24}]
  managedSecurityGroups: {}
  apiServer: {managedLoadBalancer: {}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp, namespace: prod}
spec:
  replicas: 1
  version: v1.34.1
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: home}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackMachineTemplate
metadata: {name: home, namespace: prod}
spec: {template: {spec: {flavor: {filter: {name: m1.small}}, image: {filter: {name: ubuntu}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: w, namespace: prod}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock}}}}}
{{- range .Pools}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: {{.Name}}, namespace: prod}
spec:
  clusterName: eu-1
  replicas: 2
  template:
    spec:
      clusterName: eu-1
      version: v1.34.1
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: w}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: {{.Name}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackMachineTemplate
metadata: {name: {{.Name}}, namespace: prod}
spec:
  template:
    spec:
      identityRef: {name: {{.Identity}}, cloudName: openstack}
      flavor: {filter: {name: m1.small}}
      image: {filter: {name: ubuntu}}
      ports: [{network: {filter: {name: theirs}}, enablePortSecurity: false}]
{{- end}}
{{- range $name, $yaml := .Secrets}}
---
apiVersion: v1
kind: Secret
metadata: {name: {{$name}}, namespace: prod}
data: {clouds.yaml: {{$yaml}}}
{{- end}}
`

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

const (
	home  = "project alpha"
	spare = "project beta in region RegionOne"
)

func (s *stack) wantPlaces(want ...string) {
	s.Helper()
	if got := s.places(); !slices.Equal(got, want) {
		s.Errorf("it lives in %q, want %q", got, want)
	}
}

// boot brings the in-memory machines in line with the servers.
func (s *stack) boot() {
	s.Helper()
	there := make(map[string]bool)
	for _, o := range s.cloud.Objects(ost.Servers) {
		there[o.ID()] = true
		if s.booted[o.ID()] || o.String("status") != "ACTIVE" {
			continue
		}
		s.booted[o.ID()] = true
		data, err := base64.StdEncoding.DecodeString(o.String("OS-EXT-SRV-ATTR:user_data"))
		if err != nil {
			s.Fatal(err)
		}
		spec := inmemory.VMSpec{ID: o.ID(), Name: o.String("name"), Version: "v1.34.1", UserData: data, Provider: fleet.ProviderID("openstack:///" + o.ID())}
		endpoint, _, err := inmemory.BootEndpoint(spec)
		if err != nil {
			s.Fatal(err)
		}
		if s.networks[endpoint] == "" {
			host, _, err := net.SplitHostPort(endpoint)
			if err != nil {
				s.Fatal(err)
			}
			n, err := s.boots.CreateNetwork(s.Context(), inmemory.NetworkSpec{Name: "eu-1", Endpoint: fleet.Endpoint{Host: host, Port: 6443}})
			if err != nil {
				s.Fatal(err)
			}
			s.networks[endpoint] = n.ID
		}
		spec.Network = s.networks[endpoint]
		if _, err := s.boots.CreateVM(s.Context(), spec); err != nil {
			s.Fatal(err)
		}
	}
	for id := range s.booted {
		if !there[id] {
			if err := s.boots.DeleteVM(s.Context(), id); err != nil && fleet.KindOf(err) != fleet.NotFound {
				s.Fatal(err)
			}
			delete(s.booted, id)
		}
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

// A pool in a project of its own leaves Git, and the agent ends on the way: its
// machines are drained and deleted, nothing is left there, and the place is forgotten.
// Its Secret may go then.
func TestPoolInAnotherProjectLeavesGit(t *testing.T) {
	for name, restart := range map[string]bool{"one agent": false, "another agent": true} {
		t.Run(name, func(t *testing.T) {
			onStack(t, func(s *stack) {
				s.inBeta()
				s.wanted.Pools = nil
				if restart {
					s.end()
					s.start()
					s.after = func() {
						if s.count("DrainNode") == 1 && s.after != nil {
							s.after = nil
							s.end()
							s.start()
						}
					}
				}
				s.until("empty", func() bool { return len(s.left()) == 0 })
				if s.count("DrainNode") < 2 || s.count("DeleteMachine") < 2 {
					s.Errorf("done is %q, want each machine drained, then deleted", s.did)
				}
				s.calm()
				s.wantPlaces(home)
				delete(s.wanted.Secrets, "spare")
				s.did = nil
				s.calm()
				if len(s.did) > 0 {
					s.Errorf("without the Secret there is done: %q", s.did)
				}
			})
		})
	}
}

// A pool whose identityRef changes rolls from project to project: never fewer than
// its replicas are there, and never more than one above.
func TestPoolMovesToAnotherProject(t *testing.T) {
	onStack(t, func(s *stack) {
		s.inBeta()
		for _, move := range []struct {
			identity string
			want     map[string]int
			places   []string
		}{
			{"roof", map[string]int{"alpha": 2, "beta": 0}, []string{home}},
			{"spare", map[string]int{"alpha": 0, "beta": 2}, []string{home, spare}},
		} {
			s.wanted.Pools[0].Identity = move.identity
			s.after = func() {
				if n := s.servers(); n["alpha"]+n["beta"] < 2 || n["alpha"]+n["beta"] > 3 {
					s.Errorf("on the way to %s there are servers %v", move.identity, n)
				}
				ready := 0
				for _, m := range s.last.Report.Machines {
					if m.Machine.Pool == "spare" && m.Phase == fleet.MachinePhaseRunning {
						ready++
					}
				}
				if s.last.Err == nil && ready < 2 {
					s.Errorf("on the way to %s %d machines run", move.identity, ready)
				}
			}
			s.did = nil
			s.until("moved", func() bool {
				n := s.servers()
				return n["alpha"] == move.want["alpha"] && n["beta"] == move.want["beta"]
			})
			s.calm()
			s.wantPlaces(move.places...)
			if s.count("DrainNode") < 2 {
				s.Errorf("done is %q, want each machine drained", s.did)
			}
		}
	})
}

// A cluster that is deleted leaves nothing in a project that Git does not lead to any
// more, whichever agent deletes it.
func TestDeletionWithARememberedProject(t *testing.T) {
	onStack(t, func(s *stack) {
		s.inBeta()
		s.wanted.Pools, s.wanted.Delete = nil, true
		s.end()
		s.start()
		s.until("deleted", func() bool { return s.last.Plan.Phase == fleet.PhaseDeleted })
		if left := s.left(); len(left) > 0 {
			s.Errorf("left: %q", left)
		}
	})
}

// The Secret leaves Git with the pool: that is told, and nothing is done anywhere, not
// where deletion is wished either. With the Secret back it goes on; without it once
// people say that the project is gone.
func TestSecretOfARememberedProjectIsGone(t *testing.T) {
	for name, deleted := range map[string]bool{"pool leaves": false, "cluster is deleted": true} {
		t.Run(name, func(t *testing.T) {
			onStack(t, func(s *stack) {
				s.inBeta()
				before := fmt.Sprint(s.cloud.Objects(ost.Servers), s.cloud.Objects(ost.Ports), s.cloud.Objects(ost.LoadBalancers))
				s.wanted.Pools, s.wanted.Delete = nil, deleted
				delete(s.wanted.Secrets, "spare")
				for range 2 { // this agent and the next
					for range 60 {
						s.pass()
						for _, words := range []string{"look in project " + s.cloud.ProjectID("beta"), "Secret prod/spare", "bring it back", "fairlead.dev/forget-place"} {
							if !strings.Contains(s.last.Report.Failure, words) {
								s.Fatalf("told is %q, want %q", s.last.Report.Failure, words)
							}
						}
					}
					s.end()
					s.start()
				}
				if len(s.did) > 0 {
					s.Errorf("done is %q", s.did)
				}
				if after := fmt.Sprint(s.cloud.Objects(ost.Servers), s.cloud.Objects(ost.Ports), s.cloud.Objects(ost.LoadBalancers)); after != before {
					s.Errorf("the cloud has\n%s\nand had\n%s", after, before)
				}
				s.wantPlaces(home, spare)
				s.wanted.Secrets["spare"] = s.secret("bob")
				if deleted {
					s.until("deleted", func() bool { return s.last.Plan.Phase == fleet.PhaseDeleted })
				} else {
					s.calm()
					s.wantPlaces(home)
				}
				if left := s.left(); len(left) > 0 {
					s.Errorf("left: %q", left)
				}
			})
		})
	}
}

// A project that people say is gone is not looked for, and the cluster goes on.
func TestProjectIsGivenUp(t *testing.T) {
	onStack(t, func(s *stack) {
		s.inBeta()
		id := s.lives.Places[1].ID
		s.wanted.Pools = nil
		delete(s.wanted.Secrets, "spare")
		s.pass()
		s.wanted.Forget = id
		s.calm()
		s.wantPlaces(home)
		s.wanted.Forget = ""
		s.calm()
	})
}

// What an older version wrote tells of no places: they are learned at the first look,
// and nothing is done.
func TestPlacesAreLearned(t *testing.T) {
	onStack(t, func(s *stack) {
		s.inBeta()
		s.lives = fleet.Residence{}
		s.end()
		s.start()
		s.calm()
		s.wantPlaces(home, spare)
		if len(s.did) > 0 {
			s.Errorf("done is %q", s.did)
		}
	})
}
