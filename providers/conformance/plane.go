package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// A plane is a cluster of the distribution under test, with what an agent has of it.
type plane struct {
	t        testing.TB
	w        World
	c        *fleet.Cluster
	endpoint fleet.Endpoint
	secrets  map[fleet.SecretName]fleet.SecretData
	admin    fleet.Secret // kubeconfig
}

func newPlane(t testing.TB, o DistributionOptions) *plane {
	t.Helper()
	return newPlaneIn(t, o, o.New(t), testKey())
}

// newPlaneIn returns a cluster of w without machines.
func newPlaneIn(t testing.TB, o DistributionOptions, w World, k fleet.Key) *plane {
	t.Helper()
	c := o.Cluster()
	c.Fleet, c.Key = testFleet, k
	p := &plane{t: t, w: w, c: &c}
	p.version(o.Older)
	b := &bench{t: t, p: w.Infrastructure}
	p.endpoint = b.ensure(p.c).Endpoint
	made, err := w.Distribution.NewSecrets(p.c, time.Now())
	if err != nil {
		t.Fatalf("NewSecrets = %v, want no error", err)
	}
	for _, need := range w.Distribution.Needs(p.c) {
		if _, ok := made[need.Name]; ok == need.Given {
			t.Errorf("NewSecrets makes %s: %v, and it is given: %v", need.Name, ok, need.Given)
		}
	}
	p.secrets = made
	d, err := w.Distribution.NewKubeconfig(p.c, p.endpoint, p.secrets, time.Now())
	if err != nil {
		t.Fatalf("NewKubeconfig = %v, want no error", err)
	}
	p.admin = d[fleet.KubeconfigKey]
	if s, err := w.Distribution.InspectKubeconfig(d); err != nil || s.Endpoint != p.endpoint {
		t.Errorf("InspectKubeconfig = %+v, %v, want the endpoint %v", s, err, p.endpoint)
	}
	return p
}

// version has all pools be of a version.
func (p *plane) version(v string) {
	p.c.ControlPlane.Version, p.c.ControlPlane.Template = v, fleet.TemplateHash("1-cp-"+v)
	for i := range p.c.Workers {
		p.c.Workers[i].Version, p.c.Workers[i].Template = v, fleet.TemplateHash(fmt.Sprintf("1-md-%d-%s", i, v))
	}
}

func (p *plane) access() providers.Access {
	a := providers.Access{Cluster: p.c.Key, Kubeconfig: p.admin, Secrets: make(map[fleet.SecretName]fleet.SecretData)}
	for _, need := range p.w.Distribution.Needs(p.c) {
		if need.Inside {
			a.Secrets[need.Name] = p.secrets[need.Name]
		}
	}
	return a
}

func (p *plane) input(pool fleet.Pool, name fleet.MachineName, join fleet.Join) providers.BootstrapInput {
	in := providers.BootstrapInput{
		Cluster: p.c, Pool: pool, Machine: name, Join: join, Endpoint: p.endpoint, Secrets: make(map[fleet.SecretName]fleet.SecretData),
	}
	for _, need := range p.w.Distribution.Needs(p.c) {
		if join != fleet.JoinWorker || need.Workers {
			in.Secrets[need.Name] = p.secrets[need.Name]
		}
	}
	return in
}

func (p *plane) userData(in providers.BootstrapInput) providers.UserData {
	p.t.Helper()
	u, err := p.w.Distribution.UserData(in)
	if err != nil {
		p.t.Fatalf("UserData of %s = %v, want no error", in.Machine, err)
	}
	return u
}

// boot makes a machine, and does not wait.
func (p *plane) boot(in providers.BootstrapInput) {
	p.t.Helper()
	r := providers.MachineRequest{Cluster: p.c, Pool: in.Pool, Name: in.Machine, UserData: p.userData(in), Origin: origin()}
	if err := p.w.Infrastructure.CreateMachine(p.t.Context(), operation(in.Machine), r); err != nil {
		p.t.Fatalf("CreateMachine(%s) = %v, want no error", in.Machine, err)
	}
}

// admit lets the machine of in join.
func (p *plane) admit(in providers.BootstrapInput) {
	p.t.Helper()
	if err := p.w.Distribution.Admit(p.t.Context(), p.access(), in, time.Hour); err != nil {
		p.t.Fatalf("Admit(%s) = %v, want no error", in.Machine, err)
	}
}

// servers makes n servers, one after the other: s-0, s-1, …
func (p *plane) servers(n int) {
	p.t.Helper()
	for i := range n {
		p.server(fleet.MachineName(fmt.Sprintf("s-%d", i)))
	}
}

// server makes a server, the first where there is none, and waits until it is one.
func (p *plane) server(name fleet.MachineName) {
	p.t.Helper()
	join := fleet.JoinInit
	if len(p.infrastructure().Machines) > 0 {
		join = fleet.JoinControlPlane
	}
	in := p.input(p.c.ControlPlane, name, join)
	if join != fleet.JoinInit {
		p.take(fleet.BeforeJoin)
		p.admit(in)
	}
	p.boot(in)
	p.until(fmt.Sprintf("%s is a server that votes", name), func() string { return p.serves(name) })
}

// worker makes a worker and waits until its Node is ready.
func (p *plane) worker(name fleet.MachineName) {
	p.t.Helper()
	in := p.input(p.c.Workers[0], name, fleet.JoinWorker)
	p.admit(in)
	p.boot(in)
	p.until(fmt.Sprintf("%s is a worker", name), func() string {
		n, w := p.node(name)
		switch {
		case n == nil || !n.Ready:
			return fmt.Sprintf("Node: %+v", n)
		case slices.ContainsFunc(w.Servers, func(s fleet.Server) bool { return s.Node == n.Name }):
			return "it is told to be a server"
		}
		return ""
	})
}

// take takes the steps that are due at a time.
func (p *plane) take(when fleet.StepTime) {
	p.t.Helper()
	w, err := p.look()
	if err != nil {
		p.t.Fatalf("Observe = %v, want no error", err)
	}
	for _, s := range p.w.Distribution.Steps(p.c, w) {
		if s.When != when {
			continue
		}
		if err := p.w.Distribution.Apply(p.t.Context(), p.access(), p.c, p.endpoint, s.Name); err != nil {
			p.t.Fatalf("Apply(%s) = %v, want no error", s.Name, err)
		}
	}
}

func (p *plane) infrastructure() fleet.Infrastructure {
	p.t.Helper()
	return (&bench{t: p.t, p: p.w.Infrastructure}).observe(p.c)
}

// machine returns the machine called name.
func (p *plane) machine(name fleet.MachineName) fleet.Machine {
	p.t.Helper()
	for _, m := range p.infrastructure().Machines {
		if m.Name == name {
			return m
		}
	}
	p.t.Fatalf("machine %s is not there", name)
	return fleet.Machine{}
}

// look returns what is observed inside.
func (p *plane) look() (*fleet.Workload, error) {
	w, err := p.w.Workload.Observe(p.t.Context(), p.access())
	if err != nil {
		return nil, err
	}
	err = p.w.Distribution.Observe(p.t.Context(), p.access(), &w)
	p.c.Made = w.Made // as a planner does
	return &w, err
}

func (p *plane) members() ([]fleet.Member, error) {
	etcd, err := p.w.Distribution.Members(p.t.Context(), p.access())
	if err != nil {
		return nil, err
	}
	if etcd == nil {
		p.t.Fatal("Members = nil, want those of a stacked etcd, or an error")
	}
	return etcd.Members, nil
}

// node returns the Node of a machine, by its provider id; nil where there is none or
// nothing answers.
func (p *plane) node(name fleet.MachineName) (*fleet.Node, *fleet.Workload) {
	p.t.Helper()
	w, err := p.look()
	if err != nil {
		return nil, &fleet.Workload{}
	}
	id := p.machine(name).ProviderID
	i := slices.IndexFunc(w.Nodes, func(n fleet.Node) bool { return n.ProviderID == id })
	if i < 0 {
		return nil, w
	}
	return &w.Nodes[i], w
}

// serves returns why the machine called name is no server whose member votes; empty: it
// is one.
func (p *plane) serves(name fleet.MachineName) string {
	n, w := p.node(name)
	if n == nil || !n.Ready || !n.ControlPlane {
		return fmt.Sprintf("Node: %+v", n)
	}
	if !slices.ContainsFunc(w.Servers, func(s fleet.Server) bool { return s.Node == n.Name && s.Ready }) {
		return fmt.Sprintf("servers: %+v", w.Servers)
	}
	members, err := p.members()
	if err != nil {
		return fmt.Sprintf("Members: %v", err)
	}
	if !slices.ContainsFunc(members, func(m fleet.Member) bool { return m.Node == n.Name && m.Healthy && !m.Learner }) {
		return fmt.Sprintf("members: %+v", members)
	}
	return ""
}

// memberOf returns the member on the Node of that name.
func (p *plane) memberOf(node string) fleet.Member {
	p.t.Helper()
	members, err := p.members()
	if err != nil {
		p.t.Fatalf("Members = %v, want no error", err)
	}
	for _, m := range members {
		if m.Node == node {
			return m
		}
	}
	p.t.Fatalf("no member is on Node %s: %+v", node, members)
	return fleet.Member{}
}

// wantMembers waits until the members are on exactly these Nodes.
func (p *plane) wantMembers(nodes ...string) {
	p.t.Helper()
	p.until("members are on "+strings.Join(nodes, ", "), func() string {
		members, err := p.members()
		var got []string
		for _, m := range members {
			got = append(got, m.Node)
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, nodes) {
			return fmt.Sprintf("%q, %v", got, err)
		}
		return ""
	})
}

// until looks again and again until why returns that nothing is amiss.
func (p *plane) until(what string, why func() string) {
	p.t.Helper()
	text := ""
	for began := time.Now(); time.Since(began) < patience; {
		if text = why(); text == "" {
			return
		}
		wait(p.t, step)
	}
	var consoles []string
	for _, m := range p.infrastructure().Machines {
		if m.Message != "" {
			consoles = append(consoles, fmt.Sprintf("%s: %s", m.Name, m.Message))
		}
	}
	p.t.Fatalf("after %s not yet: %s: %s (%s)", patience, what, text, strings.Join(consoles, "; "))
}
