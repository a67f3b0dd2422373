package sweep_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
	"fairlead.dev/test/run/kindstest"
)

// A pilot keeps one cluster as the agent does: it looks, does what may be done now, and looks again. What it
// remembers dies with its program.
type pilot struct {
	testing.TB
	cloud    *awstest.Cloud
	client   *awstest.Client
	provider *aws.Provider
	cluster  fleet.Cluster

	since   time.Time                       // when the program began
	open    map[fleet.MachineName]time.Time // when a machine was asked for
	errors  []error
	trouble bool // something went wrong that was meant to
}

func newPilot(t testing.TB, c *awstest.Cloud, cluster fleet.Cluster) *pilot {
	p := &pilot{TB: t, cloud: c, cluster: cluster}
	p.start()
	return p
}

// start begins a new program.
func (p *pilot) start() {
	p.client = p.cloud.Client()
	p.provider = aws.New(aws.Options{
		Cloud:  cloud.Options{Tick: 5 * time.Second, Base: p.client, Own: credentials.NewStaticCredentialsProvider(awstest.AccessKey, awstest.SecretKey, "")},
		Settle: 30 * time.Second,
	})
	p.since, p.open = time.Now(), make(map[fleet.MachineName]time.Time)
}

// object returns what the decoder makes of an object of kind with a spec in YAML.
func object(t testing.TB, kind, name, spec string) fleet.Object {
	t.Helper()
	normal, errs := kindstest.Normalised(t, kindstest.Kind(t, api.Kinds(), kind), "v1beta2", spec, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	data, err := json.Marshal(normal)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Object{GVK: schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: kind}, Name: name, Namespace: "prod", Spec: data}
}

// newCluster returns a cluster of one machine in each pool.
func newCluster(t testing.TB, spec string) fleet.Cluster {
	template := object(t, "AWSMachineTemplate", "nodes", `{instanceType: m6i.large, iamInstanceProfile: nodes, rootVolume: {size: 30}}`)
	return fleet.Cluster{
		Fleet: "fleet-a", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: api.ProviderName,
		Infrastructure: object(t, "AWSCluster", "eu-1", spec),
		ControlPlane:   fleet.Pool{Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: 1, Template: "1-cp", Version: "v1.34.1", Infrastructure: template},
		Workers:        []fleet.Pool{{Name: "eu-1-md-0", Role: fleet.RoleWorker, Replicas: 1, Template: "1-md", Version: "v1.34.1", Infrastructure: template}},
	}
}

// wanted returns the machines that are to be there, by name.
func (p *pilot) wanted() map[fleet.MachineName]fleet.Pool {
	out := make(map[fleet.MachineName]fleet.Pool)
	if p.cluster.Delete {
		return out
	}
	for _, pool := range p.cluster.Pools() {
		for i := range pool.Replicas {
			out[fleet.NewMachineName(p.cluster.Key, pool.Name, pool.Template, i)] = pool
		}
	}
	return out
}

func (p *pilot) failed(err error) {
	if err != nil {
		p.errors = append(p.errors, err)
	}
}

// pass looks once and acts. It reports whether nothing is left to do.
func (p *pilot) pass() bool {
	p.Helper()
	c := &p.cluster
	got, err := p.provider.Observe(p.Context(), c)
	if err != nil {
		p.failed(err)
		return false
	}
	p.noTwins()
	wanted := p.wanted()
	calm := p.removeMachines(got.Machines, wanted)
	for name := range wanted {
		calm = calm && slices.ContainsFunc(got.Machines, func(m fleet.Machine) bool { return m.Name == name && m.State == fleet.MachineRunning })
	}
	switch {
	case c.Delete && len(got.Machines) == 0 && !p.awaiting():
		if !got.Exists {
			return true
		}
		p.failed(p.provider.DeleteInfrastructure(p.Context(), "op", c))
		return false
	case c.Delete:
		return false
	case !got.Ready || len(got.Drift) > 0:
		p.failed(p.provider.EnsureInfrastructure(p.Context(), "op", c))
		calm = false
	}
	if got.Ready {
		p.createMachines(got.Machines, wanted)
	}
	return calm
}

// awaiting reports whether a machine that was asked for may still show.
func (p *pilot) awaiting() bool {
	maps.DeleteFunc(p.open, func(_ fleet.MachineName, at time.Time) bool { return time.Since(at) > p.provider.Settle() })
	return len(p.open) > 0
}

func (p *pilot) createMachines(there []fleet.Machine, wanted map[fleet.MachineName]fleet.Pool) {
	p.awaiting()
	if time.Since(p.since) < p.provider.Settle() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		at := slices.IndexFunc(there, func(m fleet.Machine) bool { return m.Name == name })
		if at >= 0 {
			delete(p.open, name)
		}
		if _, open := p.open[name]; open || at >= 0 {
			continue
		}
		err := p.provider.CreateMachine(p.Context(), fleet.OperationID("op-"+name), providers.MachineRequest{
			Cluster: &p.cluster, Pool: wanted[name], Name: name,
			UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
		})
		p.failed(err)
		if !fleet.Refused(err) {
			p.open[name] = time.Now()
		}
	}
}

// removeMachines removes those that are not wanted, and all but the first of those that share a name. It reports
// whether there was none.
func (p *pilot) removeMachines(there []fleet.Machine, wanted map[fleet.MachineName]fleet.Pool) bool {
	calm := true
	seen := make(map[fleet.MachineName]bool)
	for _, m := range there {
		_, want := wanted[m.Name]
		if want && !seen[m.Name] && m.State != fleet.MachineFailed && m.State != fleet.MachineDeleting {
			seen[m.Name] = true
			continue
		}
		calm = false
		if m.State != fleet.MachineDeleting {
			p.failed(p.provider.DeleteMachine(p.Context(), "op", &p.cluster, m.Name, m.ProviderID))
		}
	}
	return calm
}

// noTwins fails where the cluster has two instances of one name that both live.
func (p *pilot) noTwins() {
	p.Helper()
	seen := make(map[string]bool)
	for _, i := range p.cloud.Things(awstest.Instances) {
		name := i.Tags["fairlead.dev/machine"]
		if name == "" || i.Attr["state"] != "running" && i.Attr["state"] != "pending" {
			continue
		}
		if seen[name] {
			p.Errorf("there are two instances called %s", name)
		}
		seen[name] = true
	}
}

// fly passes until nothing is left to do. A program that died is followed by another.
func (p *pilot) fly() {
	p.Helper()
	for range 200 {
		done := p.pass()
		if p.client.Dead() {
			p.start()
			p.trouble = true
			done = false
		}
		// A new program tells what is left over from what is to come by waiting.
		if done && time.Since(p.since) > 2*p.provider.Settle()+15*time.Second {
			return
		}
		time.Sleep(15 * time.Second)
	}
	got, err := p.provider.Observe(p.Context(), &p.cluster)
	p.Fatalf("%s does not get calm: %+v, %v; the last errors: %v", p.cluster.Fleet, got, err, p.errors[max(0, len(p.errors)-3):])
}

// inject lets the nth call that changes something go wrong.
func (p *pilot) inject(n int, f awstest.Fault) {
	f.Changes, f.Skip, f.Times = true, n-1, 1
	f.Do = func(awstest.Call) { p.trouble = true }
	p.cloud.Inject(f)
}
