package decode

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"k8s.io/apimachinery/pkg/util/validation"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A builder builds one cluster from its decoded objects. It skips objects with problems,
// since their cluster is not returned.
type builder struct {
	decoder  *Decoder
	set      *overlaySet
	fleet    fleet.ID
	key      fleet.Key
	provider string
	sites    map[string]*object // objects that make a provider a guest, by provider
	// controlPlaneKind is the kind of the control plane; nil: not known.
	controlPlaneKind *kind
	controlPlaneName string // of the one whose machines are a pool; empty: there is none
	configs          map[fleet.PoolName]config
	problems         []fleet.Problem
}

func (b *builder) addf(o *object, field, hint, format string, args ...any) {
	p := o.problem(flaw{field, fmt.Sprintf(format, args...), hint})
	p.Cluster = b.key
	b.problems = append(b.problems, p)
}

// build returns the cluster of root. It may be incomplete if there are problems.
func (b *builder) build(root *object) *fleet.Cluster {
	c := &fleet.Cluster{Fleet: b.fleet, Key: b.key, Overlay: b.set.path}
	in, ok := root.value.(*clusterv1.Cluster)
	if !ok {
		return c
	}
	readNotes(root, c)
	c.AvailabilityGates = in.Spec.AvailabilityGates
	c.Labels = copied(root.labels)
	c.Paused = isPaused(in.Spec.Paused, root)
	c.Endpoint = fleet.Endpoint{Host: in.Spec.ControlPlaneEndpoint.Host, Port: in.Spec.ControlPlaneEndpoint.Port}
	c.Network = in.Spec.ClusterNetwork
	c.Infrastructure, b.provider = b.infrastructure(root, "spec.infrastructureRef", in.Spec.InfrastructureRef, fleet.InfrastructureCluster)
	c.Hosted = b.hosted(root, c)
	b.checkServing(in.Spec.InfrastructureRef, c.Hosted != nil)
	c.Provider = b.provider
	c.Companions = b.companions(b.provider)
	c.Guests = b.guests(in.Spec.InfrastructureRef)
	c.NamespaceLabels = b.namespaceLabels()
	if c.Hosted == nil {
		c.ControlPlane = b.controlPlane(root, in.Spec.ControlPlaneRef)
	}
	b.checkRotations(root, c)
	b.collect(root, c)
	b.reboots(c)
	b.checkCloudProviders(c)
	b.checkStrays()
	c.Releases = b.releases(root)
	c.Topology = b.topology(root, c)
	b.checkNames(root, c)
	if !b.broken(root) {
		b.checkDrafts(c, true)
	}
	return c
}

// readNotes stores the requests in the annotations of the Cluster.
func readNotes(root *object, c *fleet.Cluster) {
	c.Protect = root.notes[fleet.ProtectAnnotation] == "true"
	c.LeaveExternal = root.notes[fleet.ExternalResourcesAnnotation] == fleet.LeaveExternalResources
	switch wish := root.notes[fleet.DeleteAnnotation]; {
	case c.Protect: // everything else that was pushed with it counts
		c.DeletionRefused = wish == "true" || wish == fleet.Abandon
	default:
		c.Delete, c.Abandon = wish == "true", wish == fleet.Abandon
	}
	c.Suspension = suspension(root.notes)
	c.Drift = fleet.DriftPolicy(root.notes[fleet.DriftAnnotation])
	for _, r := range fleet.Rotations() {
		if value := root.notes[fleet.RotateAnnotation(r)]; value != "" {
			if c.Rotate == nil {
				c.Rotate = make(map[fleet.Rotation]string)
			}
			c.Rotate[r] = value
		}
	}
	c.Recreate = root.notes[fleet.RecreateAnnotation]
	c.RolloutRelease = fleet.ReleaseWay(root.notes[fleet.ReleaseAnnotation])
	c.AllowVersion = withV(root.notes[fleet.AllowVersionAnnotation])
	c.ForgetPlaces = listed(root.notes[fleet.ForgetPlaceAnnotation])
}

// collect stores the objects of the overlay that belong to the cluster, sorted.
func (b *builder) collect(root *object, c *fleet.Cluster) {
	c.Secrets = make(map[string]fleet.SecretData)
	c.ConfigMaps = make(map[string]map[string]string)
	bySets := make(writtenObjects)
	for _, o := range b.set.objects {
		if o.namespace != b.key.Namespace {
			continue
		}
		switch v := o.value.(type) {
		case *clusterv1.MachineDeployment:
			if v.Spec.ClusterName == b.key.Name {
				c.Workers = append(c.Workers, b.deploymentPool(o, v, c.Version()))
			}
		case *clusterv1.Machine:
			if v.Spec.ClusterName == b.key.Name {
				c.Workers = append(c.Workers, b.machine(o, v, c.Version()))
			}
		case *machinePool:
			if v.Spec.ClusterName == b.key.Name {
				b.machinePool(o, v, c)
			}
		case *clusterv1.MachineHealthCheck:
			if v.Spec.ClusterName == b.key.Name && !isPaused(nil, o) {
				c.HealthChecks = append(c.HealthChecks, *v)
			}
		case *clusterv1.MachineDrainRule:
			c.DrainRules = append(c.DrainRules, *v)
		case *addonsv1.ClusterResourceSet:
			if root.selectedBy(o) {
				c.ResourceSets = append(c.ResourceSets, b.resourceSet(o, v, bySets))
			}
		case fleet.SecretData:
			c.Secrets[o.name] = v
		case map[string]string:
			c.ConfigMaps[o.name] = v
		}
	}
	for name, keys := range b.answered() {
		if _, ok := c.Secrets[name]; !ok {
			c.Secrets[name] = fleet.AnsweredLater(keys)
		}
	}
	slices.SortFunc(c.Workers, func(x, y fleet.Pool) int { return strings.Compare(string(x.Name), string(y.Name)) })
	slices.SortFunc(c.KeptPools, func(x, y fleet.KeptPool) int { return strings.Compare(string(x.Name), string(y.Name)) })
	slices.SortFunc(c.DrainRules, func(x, y clusterv1.MachineDrainRule) int { return strings.Compare(x.Name, y.Name) })
	slices.SortFunc(c.ResourceSets, func(x, y fleet.ResourceSet) int { return strings.Compare(x.Name, y.Name) })
	slices.SortFunc(c.HealthChecks, func(x, y clusterv1.MachineHealthCheck) int { return strings.Compare(x.Name, y.Name) })
}

// poolName returns the name of the pool of o, a MachineDeployment or MachineSet. Where the control
// plane is called so too, as in a template that clusterctl has for Metal3, it is another name.
func (b *builder) poolName(o *object) fleet.PoolName {
	const suffix = "-workers"
	if o.name == b.controlPlaneName && len(o.name)+len(suffix) <= validation.LabelValueMaxLength {
		return fleet.PoolName(o.name + suffix)
	}
	return fleet.PoolName(o.name)
}

// checkNames refuses two pools with one name.
func (b *builder) checkNames(root *object, c *fleet.Cluster) {
	for i, p := range c.Workers {
		if i > 0 && p.Name == c.Workers[i-1].Name {
			b.addf(root, "metadata.name", "rename one of them", "a MachineDeployment, MachineSet or Machine of the cluster and another one are both called %q", p.Name)
		}
		if c.Hosted == nil && p.Name == c.ControlPlane.Name {
			b.addf(root, "spec.controlPlaneRef.name", "rename one of them", "control plane and a MachineDeployment, MachineSet or Machine are both called %q", p.Name)
		}
	}
	for _, p := range c.KeptPools {
		if _, both := c.Pool(p.Name); both {
			b.addf(root, "metadata.name", "rename one of them", "a MachinePool of the cluster and another pool are both called %q", p.Name)
		}
	}
}

// isPaused reports whether an object is paused.
func isPaused(paused *bool, o *object) bool {
	_, annotated := o.notes[clusterv1.PausedAnnotation]
	return annotated || paused != nil && *paused
}

// resolve returns the object that ref, at field of from, refers to, or nil
// after a problem.
func (b *builder) resolve(from *object, field string, ref clusterv1.ContractVersionedObjectReference) *object {
	if o := b.set.get(ref.APIGroup, ref.Kind, from.namespace, ref.Name); o != nil {
		return o
	}
	if !b.set.unreadable {
		b.addf(from, field, b.set.there(ref.Kind), "refers to %s %s/%s of %s, which the overlay does not hold", ref.Kind, from.namespace, ref.Name, ref.APIGroup)
	}
	return nil
}

// infrastructure resolves a reference to an object of a provider.
func (b *builder) infrastructure(from *object, field string, ref clusterv1.ContractVersionedObjectReference, role fleet.KindRole) (out fleet.Object, provider string) {
	o := b.resolve(from, field, ref)
	if o == nil || len(o.problems) > 0 {
		return fleet.Object{}, ""
	}
	in, ok := o.value.(*infrastructure)
	if !ok || in.role != role {
		b.addf(from, field, insteadOf(role), "must refer to an %s of a provider, not to %s", role, ref.Kind)
		return fleet.Object{}, ""
	}
	return b.object(o, in), in.provider
}

// copied returns m, or nil where m is empty.
func copied(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

func (b *builder) controlPlane(root *object, ref clusterv1.ContractVersionedObjectReference) fleet.Pool {
	const controlPlaneRef = "spec.controlPlaneRef"
	o := b.resolve(root, controlPlaneRef, ref)
	if o == nil || len(o.problems) > 0 {
		return fleet.Pool{}
	}
	in, ok := o.value.(*fleet.ControlPlaneManifest)
	if !ok {
		b.addf(root, controlPlaneRef, "", "must refer to a %s, not to %s", b.decoder.controlPlaneKinds(), ref.Kind)
		return fleet.Pool{}
	}
	b.controlPlaneKind = o.kind
	if root.expansion == nil { // a topology tells its pools apart
		b.controlPlaneName = o.name
	}
	labels := copied(in.Metadata.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = b.key.Name
	labels[clusterv1.MachineControlPlaneLabel] = ""
	labels[clusterv1.MachineControlPlaneNameLabel] = o.name
	field := o.written("spec.machineTemplate.spec.infrastructureRef")
	infra, provider := b.infrastructure(o, field, in.InfrastructureRef, fleet.InfrastructureMachineTemplate)
	b.onFirstSite(o, field, in.InfrastructureRef.Kind, provider)
	b.secrets(o, &in.Bootstrap)
	p := fleet.Pool{
		Name: fleet.PoolName(o.name), Role: fleet.RoleControlPlane,
		Replicas: int(*in.Replicas), Version: in.Version,
		Bootstrap: bootstrapFrom(&in.Bootstrap), Infrastructure: infra,
		APIPort: in.APIPort, JoinedAPIPort: in.JoinedAPIPort, Ports: in.Ports,
		Strategy: fleet.RollingUpdate, MaxSurge: in.MaxSurge.IntValue(), MaxUnavailable: 0,
		MaxRemediations: 1, DeletionOrder: fleet.DeleteOldest,
		Paused: isPaused(nil, o), Replace: requestedMachines(o.notes, fleet.ReplaceAnnotation), Remediate: requestedMachines(o.notes, fleet.RemediateAnnotation),
		Labels: labels, NodeLabels: nodeLabels(labels), Annotations: copied(in.Metadata.Annotations),
		Taints:                         in.Taints,
		ReadinessGates:                 in.ReadinessGates,
		NodeDrainTimeoutSeconds:        seconds(in.Deletion.NodeDrainTimeoutSeconds),
		NodeVolumeDetachTimeoutSeconds: seconds(in.Deletion.NodeVolumeDetachTimeoutSeconds),
	}
	if o.kind.distribution != kubeadm {
		p.Kind = fleet.PoolKind(o.kind.name)
	}
	p.NamePattern = b.namesOf(in.NameTemplate, "kubeadmControlPlane.name", o.name)
	p.Remediation = in.Remediation
	p.RolloutAfter, p.CertificatesExpiryDays = in.RolloutAfter.Time, in.CertificatesExpiryDays
	p.SkipKubeProxy, p.SkipCoreDNS = in.SkipKubeProxy, in.SkipCoreDNS
	if p.MaxSurge == 0 {
		p.MaxUnavailable = 1
	}
	addHashes(&p, hashSchemas())
	b.configure(p.Name, config{pool: o, version: "spec.version", object: o, path: in.Bootstrap.Path})
	return p
}

func seconds(n *int32) int {
	if n == nil {
		return 0
	}
	return int(*n)
}

// nodeLabels returns those labels of a machine that its Node gets too. Source: Cluster API,
// "Metadata propagation".
func nodeLabels(labels map[string]string) map[string]string {
	var out map[string]string
	for key, value := range labels {
		domain, _, ok := strings.Cut(key, "/")
		if !ok || domain != "node-role.kubernetes.io" && !inDomain(domain, "node-restriction.kubernetes.io") && !inDomain(domain, "node.cluster.x-k8s.io") {
			continue
		}
		if out == nil {
			out = make(map[string]string)
		}
		out[key] = value
	}
	return out
}

func inDomain(name, domain string) bool {
	return name == domain || strings.HasSuffix(name, "."+domain)
}
