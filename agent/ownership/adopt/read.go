package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/addresses"
)

// An existing cluster is one as the management cluster has it.
type existing struct {
	key     fleet.Key
	cluster Object
	pools   []pool // the control plane is first
	health  []Object
	infra   Object

	topology bool
	classes  []Object // the class and its templates, of a cluster with a topology
	class    fleet.Key

	companions  []Object
	credentials []Object // Secrets that manifests refer to
	authorities map[fleet.SecretName]fleet.SecretData
	machines    []Object
	addresses   map[string][]addresses.Claim // of pools, by the name of the Machine
	indexes     map[string]string            // among the machines of a data template, by the name of the Machine
	data        map[string]string            // the names of Machines, by that of their Metal3Data

	started  bool // it is paused for an adoption by this fleet
	released bool // its manifests are not paused any more

	problems []fleet.Problem // why it cannot be adopted
	notes    []string        // what people should know
}

// A pool is a control plane, MachineDeployment or MachinePool with its templates.
type pool struct {
	object     Object
	templates  []Object // of infrastructure, and for workers of bootstrap configuration; of a MachinePool the objects themselves
	controller bool     // it is the control plane
	kept       bool     // the cloud keeps it: a hosted control plane, or a MachinePool
	byTopology bool     // the topology controller made it
}

// hosted reports whether a cloud keeps the control plane.
func (f *existing) hosted() bool { return len(f.pools) > 0 && f.pools[0].controller && f.pools[0].kept }

// addProblem adds a reason why the cluster cannot be adopted.
func (f *existing) addProblem(o Object, field, hint, format string, args ...any) {
	f.problems = append(f.problems, fleet.Problem{
		Cluster: f.key, Object: fmt.Sprintf("%s %s", o.GetKind(), keyOf(o)), Field: field, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// read collects everything that belongs to cluster k. What is wrong with the cluster
// becomes its problems. The error is for what could not be read.
func (a *Adoption) read(ctx context.Context, k fleet.Key) (*existing, error) {
	c, err := a.o.Management.get(ctx, groupKind("Cluster"), a.o.Kinds, k)
	if err != nil {
		return nil, err
	}
	_, topology, _ := unstructured.NestedMap(c.Object, "spec", "topology")
	f := &existing{key: k, cluster: c, topology: topology, authorities: make(map[fleet.SecretName]fleet.SecretData)}
	f.started = c.GetAnnotations()[adoptedBy] == string(a.o.Fleet)
	for _, step := range []func(context.Context, *existing) error{
		a.readInfrastructure, a.readControlPlane, a.readWorkers, a.readHealth, a.readClass,
		a.readMachines, a.readCompanions, a.readHosts, a.readAddresses, a.readAuthorities, a.readCredentials, a.readNotes,
	} {
		if err := step(ctx, f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// follow returns the object that r, at field of from, refers to. An object that is missing,
// or of a kind that Fairlead does not read, is added as a problem, and nil is returned.
func (a *Adoption) follow(ctx context.Context, f *existing, from Object, field string, r ref) (Object, error) {
	if r.gk.Kind == "" {
		f.addProblem(from, field, "", "refers to nothing")
		return nil, nil //nolint:nilnil // the problem says why
	}
	if strings.HasPrefix(r.gk.Group, "infrastructure.") && !slices.ContainsFunc(a.o.Kinds, func(k fleet.Kind) bool { return k.Group == r.gk.Group && k.Kind == r.gk.Kind }) {
		f.addProblem(from, field, "it stays with Cluster API until there is one", "is a %s, and Fairlead has no provider for it", r.gk.Kind)
		return nil, nil //nolint:nilnil // the problem says why
	}
	o, err := a.o.Management.get(ctx, r.gk, a.o.Kinds, fleet.Key{Namespace: from.GetNamespace(), Name: r.name})
	switch fleet.KindOf(err) {
	case fleet.NotFound, fleet.Invalid:
		f.addProblem(from, field, "", "refers to %s %s: %s", r.gk.Kind, r.name, err)
		return nil, nil //nolint:nilnil // the problem says why
	}
	return o, err
}

// adopts reports whether what r refers to, which a cloud keeps, can be adopted.
func (a *Adoption) adopts(role fleet.KindRole, r ref) bool {
	return slices.ContainsFunc(a.o.Kinds, func(k fleet.Kind) bool {
		return k.Adoptable && k.Role == role && k.Group == r.gk.Group && k.Kind == r.gk.Kind
	})
}

func (a *Adoption) readInfrastructure(ctx context.Context, f *existing) error {
	var err error
	f.infra, err = a.follow(ctx, f, f.cluster, "spec.infrastructureRef", refAt(f.cluster, "spec", "infrastructureRef"))
	if f.infra == nil {
		return err
	}
	// A provider that adopts nothing is the reason to name, and not what else differs from its own clusters.
	gk := f.infra.GroupVersionKind().GroupKind()
	for _, k := range a.o.Kinds {
		_, chosen, _ := unstructured.NestedFieldNoCopy(f.infra.Object, strings.Split(k.Choice, ".")...)
		if k.Group != gk.Group || k.Kind != gk.Kind || k.Choice != "" && !chosen {
			continue
		}
		p, err := a.o.Infrastructure(k.Provider)
		if err != nil {
			return err
		}
		if providers.AbilitiesOf(p).Adopter == nil {
			f.addProblem(f.cluster, "spec.infrastructureRef", "create a new cluster with Fairlead, move the workloads, and delete this one with Cluster API",
				"the provider %s cannot mark what it did not create", k.Provider)
		}
	}
	return nil
}

func (a *Adoption) readControlPlane(ctx context.Context, f *existing) error {
	r := refAt(f.cluster, "spec", "controlPlaneRef")
	hosted := a.adopts(fleet.HostedControlPlaneKind, r)
	if r.gk.Kind != "KubeadmControlPlane" && !hosted {
		f.addProblem(f.cluster, "spec.controlPlaneRef", "it stays with Cluster API", "the control plane is %q, and Fairlead adopts KubeadmControlPlanes, and those that clouds keep", r.gk.Kind)
		return nil
	}
	o, err := a.follow(ctx, f, f.cluster, "spec.controlPlaneRef", r)
	if o == nil {
		return err
	}
	p := pool{object: o, controller: true, kept: hosted, byTopology: f.topology}
	if hosted {
		f.pools = append(f.pools, p)
		return nil
	}
	field := []string{"spec", "machineTemplate", "infrastructureRef"}
	if o.GroupVersionKind().Version != "v1beta1" {
		field = []string{"spec", "machineTemplate", "spec", "infrastructureRef"}
	}
	t, err := a.follow(ctx, f, o, strings.Join(field, "."), refAt(o, field...))
	if t != nil {
		p.templates = append(p.templates, t)
	}
	f.pools = append(f.pools, p)
	return err
}

// ofCluster lists the objects of a kind that belong to the cluster.
func (a *Adoption) ofCluster(ctx context.Context, f *existing, kind string) ([]Object, error) {
	all, err := a.o.Management.list(ctx, groupKind(kind), a.o.Kinds, f.key.Namespace, "")
	return slices.DeleteFunc(all, func(o Object) bool { return text(o, "spec", "clusterName") != f.key.Name }), err
}

func (a *Adoption) readWorkers(ctx context.Context, f *existing) error {
	if err := a.readMachinePools(ctx, f); err != nil {
		return err
	}
	deployments, err := a.ofCluster(ctx, f, "MachineDeployment")
	if err != nil {
		return err
	}
	for _, o := range deployments {
		_, owned := o.GetLabels()[clusterv1.ClusterTopologyOwnedLabel]
		p := pool{object: o, byTopology: f.topology && owned}
		for _, path := range [][]string{
			{"spec", "template", "spec", "bootstrap", "configRef"}, {"spec", "template", "spec", "infrastructureRef"},
		} {
			t, err := a.follow(ctx, f, o, strings.Join(path, "."), refAt(o, path...))
			if err != nil {
				return err
			}
			if t != nil {
				p.templates = append(p.templates, t)
			}
		}
		f.pools = append(f.pools, p)
	}
	return nil
}

// readMachinePools reads the pools that the cloud keeps. What makes its machines by itself, such as an auto scaling group,
// would go on to do so.
func (a *Adoption) readMachinePools(ctx context.Context, f *existing) error {
	pools, err := a.ofCluster(ctx, f, "MachinePool")
	if err != nil {
		return err
	}
	for _, o := range pools {
		path := []string{"spec", "template", "spec", "infrastructureRef"}
		r := refAt(o, path...)
		if !a.adopts(fleet.InfrastructureMachinePool, r) {
			f.addProblem(o, strings.Join(path, "."), "move its machines to a MachineDeployment first, or leave the cluster with Cluster API", "no %s can be adopted", r.gk.Kind)
			continue
		}
		_, owned := o.GetLabels()[clusterv1.ClusterTopologyOwnedLabel]
		p := pool{object: o, kept: true, byTopology: f.topology && owned}
		refs := [][]string{path}
		if config := []string{"spec", "template", "spec", "bootstrap", "configRef"}; refAt(o, config...).gk.Kind != "" {
			refs = append(refs, config)
		}
		for _, path := range refs {
			t, err := a.follow(ctx, f, o, strings.Join(path, "."), refAt(o, path...))
			if err != nil {
				return err
			}
			if t != nil {
				p.templates = append(p.templates, t)
			}
		}
		f.pools = append(f.pools, p)
	}
	return nil
}

func (a *Adoption) readHealth(ctx context.Context, f *existing) error {
	var err error
	f.health, err = a.ofCluster(ctx, f, "MachineHealthCheck")
	return err
}

func (a *Adoption) readMachines(ctx context.Context, f *existing) error {
	var err error
	if f.machines, err = a.ofCluster(ctx, f, "Machine"); err != nil {
		return err
	}
	sets, err := a.ofCluster(ctx, f, "MachineSet")
	if err != nil {
		return err
	}
	f.preflight(sets)
	return nil
}

// names are the names of the secrets that the cluster has, in their order.
func (f *existing) names() []fleet.SecretName {
	return slices.DeleteFunc(fleet.SecretNames(), func(n fleet.SecretName) bool { return f.authorities[n] == nil })
}

// readAuthorities reads the secrets that the cluster's identity depends on. For an external
// etcd these are the secrets that people gave, without the key of etcd's authority. A control
// plane that the cloud keeps gives its own.
func (a *Adoption) readAuthorities(ctx context.Context, f *existing) error {
	if f.hosted() {
		return nil
	}
	external := false
	for _, name := range append([]fleet.SecretName{fleet.EtcdClient}, append(fleet.Authorities(), fleet.Kubeconfig)...) {
		k := fleet.Key{Namespace: f.key.Namespace, Name: f.key.Name + "-" + string(name)}
		o, err := a.o.Management.get(ctx, schema.GroupKind{Kind: "Secret"}, a.o.Kinds, k)
		if fleet.KindOf(err) == fleet.NotFound {
			if name != fleet.EtcdClient {
				f.addProblem(f.cluster, "", "", "its Secret %s is not there", k)
			}
			continue
		}
		if err != nil {
			return err
		}
		external = external || name == fleet.EtcdClient
		d := dataOf(o)
		needed := []string{fleet.TLSCertKey, fleet.TLSKeyKey}
		switch {
		case name == fleet.Kubeconfig:
			needed = []string{fleet.KubeconfigKey}
		case name == fleet.EtcdCA && external:
			needed = []string{fleet.TLSCertKey}
		}
		for _, key := range needed {
			if d[key].IsZero() {
				f.addProblem(o, "data", "Fairlead has to sign with it: put it there", "has no %s", key)
			}
		}
		f.authorities[name] = d
	}
	return nil
}

// adopted returns the machines as providers know them. Their pools have the names that c,
// the definition in Git, gives them: a topology may name them otherwise.
func (f *existing) adopted(c *fleet.Cluster) []providers.AdoptedMachine {
	out := make([]providers.AdoptedMachine, 0, len(f.machines))
	for _, m := range f.machines {
		out = append(out, providers.AdoptedMachine{
			Name: fleet.MachineName(m.GetName()), Pool: poolOf(c, m), ID: fleet.ProviderID(text(m, "spec", "providerID")),
			FailureDomain: text(m, "spec", "failureDomain"), Addresses: addresses.Format(f.addresses[m.GetName()]),
			Index: f.indexes[m.GetName()],
		})
	}
	return out
}

// poolOf returns the pool of c that a Machine belongs to. It is empty where there is none.
func poolOf(c *fleet.Cluster, m Object) fleet.PoolName {
	l := m.GetLabels()
	if _, ok := l[clusterv1.MachineControlPlaneLabel]; ok && c.Hosted == nil {
		return c.ControlPlane.Name
	}
	for _, p := range c.Workers {
		name := l[clusterv1.ClusterTopologyMachineDeploymentNameLabel]
		if name != "" && p.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel] == name {
			return p.Name
		}
	}
	p, _ := c.WorkersOf(l[clusterv1.MachineDeploymentNameLabel])
	return p.Name
}
