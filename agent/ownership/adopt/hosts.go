package adopt

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// What Metal3 calls its things.
// Source: baremetal-operator, apis/metal3.io/v1alpha1; cluster-api-provider-metal3, baremetal.
const (
	metal3Hosts = "metal3.io"      // the API group of hosts
	metal3Pools = "ipam.metal3.io" // that of pools of addresses
	hostKind    = "BareMetalHost"

	hostPaused   = "baremetalhost.metal3.io/paused" // baremetal-operator leaves the host alone, whatever the value
	pausedByThem = "metal3.io/capm3"                // the value where its Cluster is paused
	hostStatus   = "baremetalhost.metal3.io/status"
	hostDetached = "baremetalhost.metal3.io/detached"
	nodeReuse    = "infrastructure.cluster.x-k8s.io/node-reuse"
)

// infrastructureKind is that of an object of Cluster API's provider for Metal3.
func infrastructureKind(kind string) schema.GroupKind {
	return schema.GroupKind{Group: "infrastructure." + coreGroup, Kind: kind}
}

func hostGroupKind() schema.GroupKind { return schema.GroupKind{Group: metal3Hosts, Kind: hostKind} }

// pausedByUs is the value of hostPaused of hosts that came along with clusters.
func (a *Adoption) pausedByUs() string { return "fairlead.dev/" + string(a.o.Fleet) }

// readHosts reads the hosts that come along with a cluster on bare metal: those that its machines
// have, and, where no other cluster of its namespace needs them, those without a consumer.
func (a *Adoption) readHosts(ctx context.Context, f *existing) error {
	if f.infra == nil || f.infra.GetKind() != "Metal3Cluster" {
		return nil
	}
	all, err := a.o.Management.list(ctx, hostGroupKind(), a.o.Kinds, f.key.Namespace, "")
	if err != nil {
		return err
	}
	neighbor, err := a.neighbor(ctx, f)
	if err != nil {
		return err
	}
	come := make(map[string]bool)
	var stay []string
	for _, o := range all {
		switch {
		case f.consumes(o):
			f.preflightHost(o)
		case isConsumed(o):
			continue
		case neighbor != "":
			stay = append(stay, o.GetName())
			continue
		}
		come[o.GetName()] = true
		f.companions = append(f.companions, a.unclaimed(f, o))
	}
	if len(stay) > 0 {
		f.notes = append(f.notes, fmt.Sprintf("hosts that no machine has stay with Metal3, since cluster %s is there too: %s (they come with the last cluster of the namespace; put the hosts of all into one folder then, which the overlays share)", neighbor, strings.Join(stay, ", ")))
	}
	if err := a.readFirmware(ctx, f, come); err != nil {
		return err
	}
	f.companions = byName(f.companions)
	return a.readData(ctx, f)
}

// neighbor names a cluster on bare metal in the namespace that stays with Cluster API; empty:
// there is none.
func (a *Adoption) neighbor(ctx context.Context, f *existing) (string, error) {
	all, err := a.o.Management.list(ctx, groupKind("Cluster"), a.o.Kinds, f.key.Namespace, "")
	for _, o := range all {
		if o.GetName() != f.key.Name && refAt(o, "spec", "infrastructureRef").gk.Kind == "Metal3Cluster" && o.GetAnnotations()[adoptedBy] != string(a.o.Fleet) {
			return o.GetName(), nil
		}
	}
	return "", err
}

// consumes reports whether a machine of the cluster has a host.
func (f *existing) consumes(host Object) bool {
	by := refAt(host, "spec", "consumerRef")
	return by.gk.Kind == "Metal3Machine" && f.machineWith(by.name) != ""
}

// isConsumed reports whether somebody has a host.
func isConsumed(host Object) bool {
	return refAt(host, "spec", "consumerRef").name != "" || text(host, "spec", "image", "url") != "" || text(host, "spec", "customDeploy", "method") != ""
}

// machineWith returns the name of the Machine with the infrastructure called name; empty: there is
// none.
func (f *existing) machineWith(name string) string {
	for _, m := range f.machines {
		if refAt(m, "spec", "infrastructureRef").name == name {
			return m.GetName()
		}
	}
	return ""
}

// preflightHost adds a problem where baremetal-operator is at work on a host, or has forgotten it.
func (f *existing) preflightHost(o Object) {
	if state := text(o, "status", "provisioning", "state"); state != "provisioned" {
		f.addProblem(o, "status.provisioning.state", restHint, "has a machine, and is %q", state)
	}
	if _, detached := o.GetAnnotations()[hostDetached]; detached || text(o, "status", "operationalStatus") == "detached" {
		f.addProblem(o, "metadata.annotations", "take "+hostDetached+" away, and wait until its status says OK", "is detached: Ironic does not know it")
	}
	if o.GetDeletionTimestamp() != nil {
		f.addProblem(o, "metadata.deletionTimestamp", "", "is being deleted")
	}
}

// unclaimed returns a host as the inventory in Git has it: without what controllers wrote, and
// without what runs on it, which its machine says.
func (a *Adoption) unclaimed(f *existing, o Object) Object {
	out := o.DeepCopy()
	if f.consumes(o) {
		for _, field := range []string{"consumerRef", "image", "userData", "metaData", "networkData"} {
			unstructured.RemoveNestedField(out.Object, "spec", field)
		}
	}
	notes := out.GetAnnotations()
	if by := notes[hostPaused]; by == pausedByThem || by == a.pausedByUs() {
		delete(notes, hostPaused)
	}
	delete(notes, hostStatus)
	out.SetAnnotations(notes)
	labels := out.GetLabels()
	delete(labels, nodeReuse)
	out.SetLabels(labels)
	return out
}

// readFirmware reads what people want of the firmware of hosts: the decoder says what it makes of
// it. baremetal-operator makes an empty object for every host.
func (a *Adoption) readFirmware(ctx context.Context, f *existing, hosts map[string]bool) error {
	for _, k := range []struct{ kind, field string }{{"HostFirmwareSettings", "settings"}, {"HostFirmwareComponents", "updates"}} {
		all, err := a.o.Management.list(ctx, schema.GroupKind{Group: metal3Hosts, Kind: k.kind}, a.o.Kinds, f.key.Namespace, "")
		if err != nil {
			return err
		}
		for _, o := range all {
			wanted, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", k.field)
			items, _ := wanted.([]any)
			values, _ := wanted.(map[string]any)
			if hosts[o.GetName()] && len(items)+len(values) > 0 {
				f.companions = append(f.companions, o)
			}
		}
	}
	return nil
}

// readData reads the index of each machine among those of its data template, and whether it is
// being rebooted.
func (a *Adoption) readData(ctx context.Context, f *existing) error {
	f.indexes, f.data = make(map[string]string), make(map[string]string)
	all, err := a.o.Management.list(ctx, infrastructureKind("Metal3Data"), a.o.Kinds, f.key.Namespace, "")
	if err != nil {
		return err
	}
	for _, o := range all {
		machine := f.machineWith(text(o, "spec", "claim", "name")) // a claim has the name of its Metal3Machine
		if machine == "" {
			continue
		}
		f.data[o.GetName()] = machine
		if n, ok := number(o, "spec", "index"); ok {
			f.indexes[machine] = fmt.Sprintf("%s/%s/%d", cmp.Or(text(o, "spec", "template", "namespace"), f.key.Namespace), text(o, "spec", "template", "name"), n)
		}
	}
	reboots, err := a.o.Management.list(ctx, infrastructureKind("Metal3Remediation"), a.o.Kinds, f.key.Namespace, "")
	for _, o := range reboots {
		if slices.ContainsFunc(f.machines, func(m Object) bool { return m.GetName() == o.GetName() }) {
			f.addProblem(o, "", restHint, "is under way")
		}
	}
	return err
}

// owners returns the Machines of objects that the owners of these do not lead to: older versions of
// Metal3 have a Metal3Data owned by its template.
func (f *existing) owners() map[ref]string {
	out := make(map[ref]string)
	for name, machine := range f.data {
		out[ref{infrastructureKind("Metal3Data"), name}] = machine
	}
	return out
}

// pauseHosts keeps baremetal-operator from the hosts that come along: it does not look at the
// Cluster's pause. What was paused before stays paused.
func (a *Adoption) pauseHosts(ctx context.Context, c *candidate) error {
	var names []string
	for _, o := range c.desired.Companions {
		if o.GVK.Group == metal3Hosts && o.GVK.Kind == hostKind {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	a.o.OnStep(c.key, Pause, fmt.Sprintf("%d hosts of its namespace: baremetal-operator leaves them alone", len(names)))
	if a.o.DryRun {
		return nil
	}
	for _, name := range names {
		o, err := a.o.Management.get(ctx, hostGroupKind(), a.o.Kinds, fleet.Key{Namespace: c.key.Namespace, Name: name})
		if fleet.KindOf(err) == fleet.NotFound {
			continue // people wrote it into Git
		}
		if err != nil {
			return err
		}
		if _, paused := o.GetAnnotations()[hostPaused]; paused {
			continue
		}
		if err := a.annotateHost(ctx, o, a.pausedByUs()); err != nil {
			return err
		}
	}
	return nil
}

// unpauseHosts lets baremetal-operator act again on the hosts of the cluster, and on those that
// without a consumer, unless another cluster of the fleet has them in its inventory.
func (a *Adoption) unpauseHosts(ctx context.Context, f *existing) error {
	all, err := a.o.Management.list(ctx, hostGroupKind(), a.o.Kinds, f.key.Namespace, "")
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(o Object) bool {
		return o.GetAnnotations()[hostPaused] != a.pausedByUs() || isConsumed(o) && !f.consumes(o)
	})
	if len(all) == 0 {
		return nil
	}
	there, err := a.o.Load(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the fleet in %s: %w", a.o.Folder, err)
	}
	all = slices.DeleteFunc(all, func(o Object) bool { return !f.consumes(o) && hasHost(there.Clusters, f.key, keyOf(o)) })
	a.o.OnStep(f.key, Pause, fmt.Sprintf("of %d hosts is taken back: baremetal-operator acts again", len(all)))
	if a.o.DryRun {
		return nil
	}
	for _, o := range all {
		if err := a.annotateHost(ctx, o, nil); err != nil {
			return err
		}
	}
	return nil
}

// hasHost reports whether a cluster beside except has a host in its inventory.
func hasHost(clusters []fleet.Cluster, except, host fleet.Key) bool {
	for i := range clusters {
		for _, o := range clusters[i].Companions {
			if clusters[i].Key != except && o.GVK.Kind == hostKind && o.Namespace == host.Namespace && o.Name == host.Name {
				return true
			}
		}
	}
	return false
}

// annotateHost sets the pause of a host, if the host is still as it was read; nil takes it away.
func (a *Adoption) annotateHost(ctx context.Context, o Object, value any) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": o.GetResourceVersion(), "annotations": map[string]any{hostPaused: value}},
	})
	if err != nil {
		return err
	}
	_, err = a.o.Management.merge(ctx, hostGroupKind(), a.o.Kinds, keyOf(o), body)
	return err
}
