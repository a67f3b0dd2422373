package adopt

import (
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

// check finds out whether the cluster can be adopted, and changes nothing. Why
// not is in the problems of f. done says that it was adopted before.
func (a *Adoption) check(ctx context.Context, f *found) (c *candidate, done bool, err error) {
	a.o.Say(f.key, Check, f.summary())
	if by := f.cluster.GetAnnotations()[adoptedBy]; by != "" && by != string(a.o.Fleet) {
		f.refuse(f.cluster, "metadata.annotations", "undo that first, with the fleet "+by, "fleet %s adopted it", by)
	}
	if len(f.problems) > 0 {
		return nil, false, nil
	}
	a.o.Secrets.lend(f)
	c = &candidate{found: f}
	if err := a.compare(ctx, c); err != nil || len(f.problems) > 0 {
		return nil, false, err
	}
	c.machines = f.adopted(c.desired)
	if c.released { // what was changed in Git since is no reason to refuse what is done
		if done, err := a.finished(ctx, c); err != nil || done || len(f.problems) > 0 {
			return c, done, err
		}
	}
	if c.compareOwn(); len(f.problems) > 0 {
		return nil, false, nil
	}
	for i, m := range c.machines {
		if m.Pool == "" {
			f.refuse(f.machines[i], "metadata.labels", "", "is of no pool that Git would have")
		}
	}
	if err := a.checkSecrets(ctx, c); err != nil || len(f.problems) > 0 {
		return nil, false, err
	}
	if err := a.foresee(ctx, c); err != nil || len(f.problems) > 0 {
		return nil, false, err
	}
	return c, false, a.checkMarks(ctx, c)
}

// finished reports whether the adoption of a cluster that is not held came to
// its end: everything carries its mark, or Fairlead made something since.
func (a *Adoption) finished(ctx context.Context, c *candidate) (bool, error) {
	p, err := a.o.Infrastructure(c.desired.Provider)
	if err != nil {
		return false, err
	}
	done := false
	if adopter := providers.AbilitiesOf(p).Adopter; adopter != nil {
		marks, err := adopter.Adoptable(ctx, c.desired, c.machines)
		done = err == nil && len(marks) == 0
	}
	seen, err := p.Observe(ctx, c.desired)
	if err != nil {
		return false, err
	}
	for _, m := range seen.Machines {
		done = done || m.Operation != providers.AdoptionID(c.key)
	}
	if done {
		a.o.Say(c.key, Release, "is adopted already: commit and push "+c.written)
		return true, nil
	}
	if !c.paused {
		c.refuse(c.cluster, "", "put spec.paused: true there, so that no agent acts before all is done", "is in the fleet already, in %s, and not paused", c.written)
	}
	return false, nil
}

// summary says what the cluster is, for people.
func (f *found) summary() string {
	var pools []string
	for _, p := range f.pools {
		n, _ := number(p.object, "spec", "replicas")
		pools = append(pools, fmt.Sprintf("%s (%d)", p.object.GetName(), n))
	}
	return fmt.Sprintf("%s, machines of %s", f.cluster.GetAPIVersion(), strings.Join(pools, ", "))
}

// decode returns the cluster that docs make. Its problems become those of f.
func (a *Adoption) decode(f *found, docs []document) (*fleet.Cluster, []fleet.Problem, error) {
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
	clusters[0].Paused = false // held or not, it is the same cluster
	return &clusters[0], nil, nil
}

// compare decodes what the manifests would say, and makes sure that it is what
// Cluster API made the machines from.
func (a *Adoption) compare(ctx context.Context, c *candidate) error {
	c.docs = a.layout(c.found)
	for _, o := range c.credentials {
		if a.inGit(c.found, o) && len(a.o.Recipients) == 0 {
			c.refuse(o, "", "name an age recipient with --age-recipient; fairlead secrets recipient prints that of a store in a folder", "has to go to Git, and there is nobody to encrypt it for")
			return nil
		}
	}
	desired, problems, err := a.decode(c.found, c.docs)
	if err != nil || len(problems) > 0 || desired == nil {
		c.problems = append(c.problems, problems...)
		if err == nil && len(problems) == 0 {
			c.refuse(c.cluster, "", "", "makes no cluster")
		}
		return err
	}
	if c.topology && a.o.Classes != ExpandClasses {
		if err := a.compareClass(c, desired); err != nil || len(c.problems) > 0 {
			return err
		}
	}
	c.docs = trim(c.docs, func(docs []document) bool {
		got, _, err := a.decode(c.found, docs)
		return err == nil && got != nil && digestOf(got) == digestOf(desired)
	})
	c.desired = desired
	return a.compareFleet(ctx, c)
}

// digestOf identifies all that machines and infrastructure depend on.
func digestOf(c *fleet.Cluster) string { return c.Digest }

// compareClass makes sure that the class makes here what Cluster API made of it.
func (a *Adoption) compareClass(c *candidate, desired *fleet.Cluster) error {
	plain := New(a.o)
	plain.o.Classes = ExpandClasses
	without := *c.found
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
		q, _ := made.Pool(fleet.PoolName(p.object.GetName()))
		i := slices.IndexFunc(desired.Pools(), func(d fleet.Pool) bool {
			name := p.object.GetLabels()[clusterv1.ClusterTopologyMachineDeploymentNameLabel]
			return p.controller && d.Role == fleet.RoleControlPlane || d.Role == fleet.RoleWorker &&
				(string(d.Name) == p.object.GetName() || name != "" && d.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel] == name)
		})
		if i < 0 || desired.Pools()[i].Template != q.Template {
			c.refuse(c.cluster, "spec.topology", "adopt it with --classes expand", "ClusterClass %s makes other machines here than Cluster API made for pool %s", c.class, q.Name)
		}
	}
	return nil
}

// compareFleet looks for the cluster in the fleet. What is there has to say the
// same of the machines as the management cluster, and must not be acted on yet.
func (a *Adoption) compareFleet(ctx context.Context, c *candidate) error {
	there, err := a.find(ctx, c.key)
	if err != nil || there == nil {
		return err
	}
	c.written = there.Overlay
	held, err := isHeld(filepath.Join(a.o.Folder, c.written, clusterFile))
	if err != nil {
		return err
	}
	c.paused, c.released = there.Paused, c.begun && !held
	c.own = !held && there.Paused && c.cluster.GetAnnotations()[pausedBefore] == ""
	if !there.Paused && !c.begun {
		c.refuse(c.cluster, "", "put spec.paused: true there, so that no agent acts before all is done", "is in the fleet already, in %s, and not paused", c.written)
		return nil
	}
	running := *there
	running.Paused = false
	c.expected, c.desired = c.desired, &running
	return nil
}

// compareOwn makes sure that what the fleet has makes the machines that Cluster
// API made.
func (c *candidate) compareOwn() {
	if c.expected == nil {
		return
	}
	for _, p := range c.desired.Pools() {
		q, ok := c.expected.Pool(p.Name)
		if !ok || p.Template != q.Template {
			c.refuse(c.cluster, "", "make them equal, or remove the folder and run this again", "%s says something else of pool %s than the management cluster", c.written, p.Name)
		}
	}
}

// foresee makes sure that Fairlead would change no machine, were they its own.
func (a *Adoption) foresee(ctx context.Context, c *candidate) error {
	seen, err := a.o.Look(ctx, c.desired)
	if err != nil {
		return err
	}
	if !seen.Workload.Reachable {
		c.notes = append(c.notes, "its API server does not answer here, so its Nodes are not compared: "+seen.Workload.Message)
	}
	// What differs from Git without being outdated is for the last step to judge,
	// once everything carries its mark.
	seen.Infrastructure.Exists, seen.Infrastructure.Ready, seen.Infrastructure.Machines, seen.Infrastructure.Drift = true, true, nil, nil
	for i, m := range c.machines {
		p, _ := c.desired.Pool(m.Pool)
		seen.Infrastructure.Machines = append(seen.Infrastructure.Machines, fleet.Machine{
			Name: m.Name, ProviderID: m.ID, Pool: p.Name, Role: p.Role, Template: p.Template, Version: p.Version,
			State: fleet.MachineRunning, Created: c.found.machines[i].GetCreationTimestamp().Time,
		})
	}
	for _, change := range forecast.Of(plan.Input{Desired: c.desired, Observed: seen, Now: seen.At}).Changes {
		c.refuse(c.cluster, "", "bring it to rest in Cluster API first", "Fairlead would %s", describe(change))
	}
	return nil
}

// describe says a change for people.
func describe(c forecast.Change) string {
	text := string(c.Kind)
	if c.Machine != "" {
		text += " machine " + string(c.Machine)
	}
	return text + ": " + c.Reason
}

// checkMarks asks the provider whether it can take everything over.
func (a *Adoption) checkMarks(ctx context.Context, c *candidate) error {
	for _, g := range c.desired.Guests {
		c.refuse(c.cluster, "spec.infrastructureRef", "take its pools out before, and have Fairlead make them anew after",
			"has workers on %s beside %s: machines of one provider alone are adopted", g.Provider, c.desired.Provider)
	}
	p, err := a.o.Infrastructure(c.desired.Provider)
	if err != nil {
		return err
	}
	adopter := providers.AbilitiesOf(p).Adopter
	if adopter == nil {
		c.refuse(c.cluster, "spec.infrastructureRef", "", "the provider %s cannot take over what it did not make", c.desired.Provider)
		return nil
	}
	c.adopter, c.settle = adopter, p.Settle()
	c.marks, err = adopter.Adoptable(ctx, c.desired, c.machines)
	switch fleet.KindOf(err) {
	case fleet.Conflict, fleet.NotFound, fleet.Invalid:
		if err != nil {
			c.refuse(c.cluster, "", "", "%s", err)
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
