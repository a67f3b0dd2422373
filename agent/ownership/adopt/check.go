package adopt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/render/topology"
)

// check finds out whether the cluster can be adopted, and changes nothing. The reasons why
// it cannot are the problems of f. With done the cluster was adopted before.
func (a *Adoption) check(ctx context.Context, f *existing) (c *candidate, done bool, err error) {
	a.o.OnStep(f.key, Check, f.summary())
	if by := f.cluster.GetAnnotations()[adoptedBy]; by != "" && by != string(a.o.Fleet) {
		f.addProblem(f.cluster, "metadata.annotations", "undo that first, with the fleet "+by, "fleet %s adopted it", by)
	}
	if len(f.problems) > 0 {
		return nil, false, nil
	}
	a.o.Secrets.add(f)
	c = &candidate{existing: f}
	if err := a.compare(ctx, c); err != nil || len(f.problems) > 0 {
		return nil, false, err
	}
	c.machines = f.adopted(c.desired)
	if c.released { // an adoption that is finished stays finished, whatever Git says since
		if done, err := a.finished(ctx, c); err != nil || done || len(f.problems) > 0 {
			return c, done, err
		}
	}
	if c.compareTemplates(); len(f.problems) > 0 {
		return nil, false, nil
	}
	for i, m := range c.machines {
		if m.Pool == "" {
			f.addProblem(f.machines[i], "metadata.labels", "", "is of no pool that Git would have")
		}
	}
	if err := a.checkSecrets(ctx, c); err != nil || len(f.problems) > 0 {
		return nil, false, err
	}
	if err := a.checkForecast(ctx, c); err != nil || len(f.problems) > 0 {
		return nil, false, err
	}
	return c, false, a.checkAdopter(ctx, c)
}

// finished reports whether the adoption of a cluster that is not paused in Git was
// finished: everything carries the ownership tags, or Fairlead has made something since.
func (a *Adoption) finished(ctx context.Context, c *candidate) (bool, error) {
	p, err := a.o.Infrastructure(c.desired.Provider)
	if err != nil {
		return false, err
	}
	done := false
	if adopter := providers.AbilitiesOf(p).Adopter; adopter != nil {
		untagged, err := adopter.Adoptable(ctx, c.desired, c.machines)
		done = err == nil && len(untagged) == 0
	}
	seen, err := p.Observe(ctx, c.desired)
	if err != nil {
		return false, err
	}
	for _, m := range seen.Machines {
		done = done || m.Damaged == "" && m.Operation != providers.AdoptionID(c.key)
	}
	if done {
		a.o.OnStep(c.key, Release, "is adopted already: commit and push "+c.folder)
		return true, nil
	}
	if !c.paused {
		c.addProblem(c.cluster, "", "put spec.paused: true there, so that no agent acts before all is done", "is in the fleet already, in %s, and not paused", c.folder)
	}
	return false, nil
}

// summary describes the cluster for people.
func (f *existing) summary() string {
	var pools []string
	for _, p := range f.pools {
		name := p.object.GetName()
		if n, ok := number(p.object, "spec", "replicas"); ok {
			name += fmt.Sprintf(" (%d)", n)
		}
		pools = append(pools, name)
	}
	return fmt.Sprintf("%s, machines of %s", f.cluster.GetAPIVersion(), strings.Join(pools, ", "))
}

// decode returns the cluster that docs define.
func (a *Adoption) decode(f *existing, docs []document) (*fleet.Cluster, []fleet.Problem, error) {
	folder := overlayOf(f.key)
	objects, err := rendered(folder, docs)
	if err != nil {
		return nil, nil, err
	}
	var libraries []topology.Library
	if len(f.classes) > 0 {
		class, err := rendered(libraryOf(f.class), f.classLayout())
		if err != nil {
			return nil, nil, err
		}
		l, problems := a.o.Decoder.Library(libraryOf(f.class), class)
		if len(problems) > 0 {
			return nil, problems, nil
		}
		libraries = append(libraries, l)
	}
	clusters, problems := a.o.Decoder.Decode(folder, objects, libraries...)
	if len(problems) > 0 || len(clusters) != 1 {
		return nil, problems, nil
	}
	clusters[0].Paused = false // the cluster is the same, paused or not
	return &clusters[0], nil, nil
}

// compare decodes the manifests, and checks that they define what Cluster API made the
// machines from.
func (a *Adoption) compare(ctx context.Context, c *candidate) error {
	c.docs = a.layout(c.existing)
	for _, o := range c.credentials {
		if a.inGit(c.existing, o) && len(a.o.Recipients) == 0 {
			c.addProblem(o, "", "name an age recipient with --age-recipient; fairlead secrets recipient prints that of a store in a folder", "has to go to Git, and there is no recipient to encrypt it for")
			return nil
		}
	}
	desired, problems, err := a.decode(c.existing, c.docs)
	if err != nil || len(problems) > 0 || desired == nil {
		c.problems = append(c.problems, problems...)
		if err == nil && len(problems) == 0 {
			c.addProblem(c.cluster, "", "", "makes no cluster")
		}
		return err
	}
	if c.topology && a.o.Classes != ExpandClasses {
		if err := a.compareClass(c, desired); err != nil || len(c.problems) > 0 {
			return err
		}
	}
	c.docs = dropDefaults(c.docs, func(docs []document) bool {
		got, _, err := a.decode(c.existing, docs)
		return err == nil && got != nil && digestOf(got) == digestOf(desired)
	})
	c.desired = desired
	return a.compareFleet(ctx, c)
}

// digestOf identifies all that machines and infrastructure depend on.
func digestOf(c *fleet.Cluster) string { return c.Digest }

// compareClass checks that the class makes the same machines here that Cluster API made.
func (a *Adoption) compareClass(c *candidate, desired *fleet.Cluster) error {
	plain := New(a.o)
	plain.o.Classes = ExpandClasses
	without := *c.existing
	without.classes = nil
	made, problems, err := plain.decode(&without, plain.layout(&without))
	if err != nil {
		return err
	}
	if made == nil {
		c.problems = append(c.problems, problems...)
		return nil
	}
	for _, p := range c.pools {
		q := made.ControlPlane
		if !p.controller {
			q, _ = made.WorkersOf(p.object.GetName())
		}
		i := slices.IndexFunc(desired.Pools(), func(d fleet.Pool) bool {
			name := p.object.GetLabels()[clusterv1.ClusterTopologyMachineDeploymentNameLabel]
			return p.controller && d.Role == fleet.RoleControlPlane || d.Role == fleet.RoleWorker &&
				(string(d.Name) == p.object.GetName() || name != "" && d.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel] == name)
		})
		if i < 0 || desired.Pools()[i].Template != q.Template {
			c.addProblem(c.cluster, "spec.topology", "adopt it with --classes expand", "ClusterClass %s makes other machines here than Cluster API made for pool %s", c.class, q.Name)
		}
	}
	return nil
}

// compareFleet looks for a definition of the cluster in the fleet. That definition has to
// make the same machines as the management cluster's, and to be paused.
func (a *Adoption) compareFleet(ctx context.Context, c *candidate) error {
	there, err := a.find(ctx, c.key)
	if err != nil || there == nil {
		return err
	}
	c.folder = there.Overlay
	pause, err := isPaused(filepath.Join(a.o.Folder, c.folder, clusterFile))
	if err != nil {
		return err
	}
	c.paused, c.released = there.Paused, c.started && !pause
	c.byPeople = !pause && there.Paused && c.cluster.GetAnnotations()[pausedBefore] == ""
	if !there.Paused && !c.started {
		c.addProblem(c.cluster, "", "put spec.paused: true there, so that no agent acts before all is done", "is in the fleet already, in %s, and not paused", c.folder)
		return nil
	}
	running := *there
	running.Paused = false
	c.expected, c.desired = c.desired, &running
	return nil
}

// compareTemplates checks that the definition in the fleet makes the machines that Cluster
// API made.
func (c *candidate) compareTemplates() {
	if c.expected == nil {
		return
	}
	for _, p := range c.desired.Pools() {
		q, ok := c.expected.Pool(p.Name)
		if !ok || p.Template != q.Template {
			c.differs("pool " + string(p.Name))
		}
	}
	if h, there := c.desired.Hosted, c.expected.Hosted; h != nil && (there == nil || h.Version != there.Version || !bytes.Equal(h.Object.Spec, there.Object.Spec)) {
		c.differs("the control plane")
	}
	for _, p := range c.desired.KeptPools {
		if q, ok := c.expected.KeptPool(p.Name); !ok || p.Version != q.Version || !bytes.Equal(p.Infrastructure.Spec, q.Infrastructure.Spec) {
			c.differs("pool " + string(p.Name))
		}
	}
}

// differs adds the problem that the fleet defines a part in another way.
func (c *candidate) differs(part string) {
	c.addProblem(c.cluster, "", "make them equal, or remove the folder and run this again", "%s says something else of %s than the management cluster", c.folder, part)
}

// checkForecast checks that Fairlead would change no machine if the machines were its own.
func (a *Adoption) checkForecast(ctx context.Context, c *candidate) error {
	seen, err := a.o.Look(ctx, c.desired)
	if err != nil {
		return err
	}
	if !seen.Workload.Reachable {
		c.notes = append(c.notes, "its API server does not answer here, so its Nodes are not compared: "+seen.Workload.Message)
	}
	// Drift of the infrastructure is checked by the step plan, once everything carries the
	// ownership tags.
	seen.Infrastructure.Exists, seen.Infrastructure.Ready, seen.Infrastructure.Machines, seen.Infrastructure.Drift = true, true, nil, nil
	for i, m := range c.machines {
		p, _ := c.desired.Pool(m.Pool)
		seen.Infrastructure.Machines = append(seen.Infrastructure.Machines, fleet.Machine{
			Name: m.Name, ProviderID: m.ID, Pool: p.Name, Role: p.Role, Template: p.Template, Version: p.Version,
			State: fleet.MachineRunning, FailureDomain: m.FailureDomain, Created: c.existing.machines[i].GetCreationTimestamp().Time,
		})
	}
	seen.Infrastructure.Pools = nil
	for _, p := range c.desired.KeptPools {
		seen.Infrastructure.Pools = append(seen.Infrastructure.Pools, fleet.KeptPoolSeen{Name: p.Name, State: fleet.KeptActive, Count: p.Count, Range: p.Range, Version: p.Version})
	}
	for _, change := range forecast.Of(plan.Input{Desired: c.desired, Observed: seen, Now: seen.At}).Changes {
		if change.Kind == forecast.PrepareHost { // drift, which the step plan checks
			continue
		}
		c.addProblem(c.cluster, "", "bring it to rest in Cluster API first", "Fairlead would %s", describe(change))
	}
	return nil
}

// describe describes a change for people.
func describe(c forecast.Change) string {
	text := string(c.Kind)
	if c.Machine != "" {
		text += " machine " + string(c.Machine)
	}
	return text + ": " + c.Reason
}

// checkAdopter checks that the provider can take everything over.
func (a *Adoption) checkAdopter(ctx context.Context, c *candidate) error {
	for _, g := range c.desired.Guests {
		c.addProblem(c.cluster, "spec.infrastructureRef", "remove those pools before, and let Fairlead create them again afterwards",
			"has workers on %s beside %s: machines of one provider alone are adopted", g.Provider, c.desired.Provider)
	}
	p, err := a.o.Infrastructure(c.desired.Provider)
	if err != nil {
		return err
	}
	adopter := providers.AbilitiesOf(p).Adopter
	if adopter == nil {
		c.addProblem(c.cluster, "spec.infrastructureRef", "", "the provider %s cannot mark what it did not create", c.desired.Provider)
		return nil
	}
	c.adopter, c.settle = adopter, p.Settle()
	c.untagged, err = adopter.Adoptable(ctx, c.desired, c.machines)
	switch fleet.KindOf(err) {
	case fleet.Conflict, fleet.NotFound, fleet.Invalid:
		if err != nil {
			c.addProblem(c.cluster, "", "", "%s", err)
			return nil
		}
	}
	return err
}

func exists(name string) (bool, error) {
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
