package wiring

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/home"
	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/ownership/pivot/install"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/reconcile"
	"fairlead.dev/sources"
)

// declaredPollInterval is between looks while a declared move is under way, as often as
// agents look then.
const declaredPollInterval = 3 * time.Second

// mover returns what moves the fleet of an agent with settings s to the home
// that fleet.yaml names; nil where the agent does not do that by itself.
func (s Settings) mover(source sources.Source, store secrets.Store) func(home.Move) (home.Mover, error) {
	if s.ChartVersion == "" {
		return nil
	}
	return func(m home.Move) (home.Mover, error) {
		if IsFolder(s.Source) {
			return nil, fleet.Errorf(fleet.Invalid, "move the fleet", "it is in a folder of this computer, which a cluster cannot read: start the agent with --source URL, or remove spec.home")
		}
		if f, err := s.statusFolder(); f != nil || err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "move the fleet", "its status is in a folder of this computer, which a cluster cannot reach: name a Git repository with --status-repository, or remove spec.home")
		}
		own, err := s.ownStore(m, store)
		if err != nil {
			return nil, err
		}
		d := &declaredPivot{s: s, m: m, source: source, own: own}
		return d, nil
	}
}

// ownStore returns the secrets of the agent itself. One that lives in a cluster
// of the fleet has no right there to list Secrets, and the kubeconfig of an
// administrator of it: nothing that it could not do already is granted to it.
func (s Settings) ownStore(m home.Move, store secrets.Store) (secrets.Store, error) {
	own := secrets.OfFleet(store, m.Fleet)
	here, inside := ownership.HomeOf(m.Self)
	if !inside {
		return own, nil
	}
	return &inClusterStore{Store: own, here: here, fleet: m.Fleet, s: s}, nil
}

// An inClusterStore is the store of an agent in the cluster here.
type inClusterStore struct {
	secrets.Store

	here  fleet.Key
	fleet fleet.ID
	s     Settings
}

// ListSecrets implements secrets.Store.
func (i *inClusterStore) ListSecrets(ctx context.Context) ([]fleet.Key, error) {
	h, err := i.s.existing(ctx, i.Store, i.here, fleet.Home{}, i.fleet)
	if err != nil {
		return nil, err
	}
	return h.Secrets().ListSecrets(ctx)
}

// Secrets implements reconcile.SecretLister.
func (i *inClusterStore) Secrets(ctx context.Context, clusters []fleet.Key) (reconcile.StoredSecrets, error) {
	return reconcile.SecretsOf(ctx, i.Store, clusters)
}

// existing opens the home k, in which an agent as in h may be installed.
func (s Settings) existing(ctx context.Context, from secrets.Store, k fleet.Key, h fleet.Home, id fleet.ID) (pivot.Home, error) {
	o := HomeClient{Cluster: k, From: from, open: s.openHome, Options: install.Options{
		Helm: s.Built.Charts(), Release: helm.Release{Namespace: h.Namespace, Name: h.Release}, Fleet: id, Source: s.Source, Log: s.Log,
	}}
	return o.Open(ctx)
}

// A declaredPivot is the move of a fleet to the home that fleet.yaml names.
type declaredPivot struct {
	s      Settings
	m      home.Move
	source sources.Source
	own    secrets.Store
}

var _ home.Mover = (*declaredPivot)(nil)

// Run implements home.Mover.
func (d *declaredPivot) Run(ctx context.Context, show func(step, why string)) error {
	p, err := d.pivot(ctx, show)
	if p == nil || err != nil {
		return err
	}
	return p.Run(ctx)
}

// Undo implements home.Mover.
func (d *declaredPivot) Undo(ctx context.Context) error {
	p, err := d.pivot(ctx, nil)
	if p == nil || err != nil {
		return err
	}
	return p.Undo(ctx)
}

// pivot returns the move as things are; nil where nothing is left of it.
func (d *declaredPivot) pivot(ctx context.Context, show func(step, why string)) (*pivot.Pivot, error) {
	k := d.m.Home.Cluster
	w := pivot.Destination{To: ownership.AgentOf(k), Home: k, SkipCleanup: d.m.Home.Keep, WaitProvisioned: true}
	p := pivot.Parts{
		Arbiter: d.m.Branch.Arbiter, Status: d.m.Branch.Read, Clusters: d.m.Clusters, From: d.own,
		ID: rand.Text, PollInterval: declaredPollInterval, IdleInterval: d.m.Idle, Show: stepReporter(show),
	}
	if d.m.Left != (fleet.Key{}) {
		old, err := d.s.existing(ctx, d.own, d.m.Left, d.m.Home, d.m.Fleet)
		if fleet.KindOf(err) == fleet.NotFound {
			return nil, nil //nolint:nilnil // the old home is gone, and all that was in it
		}
		if err != nil {
			return nil, err
		}
		p.From, p.To, p.Old = old.Secrets(), d.own, old
		return pivot.New(w, p), nil
	}
	owner, err := p.Arbiter.Owner(ctx)
	if err != nil {
		return nil, err
	}
	if _, inside := ownership.HomeOf(d.m.Self); inside {
		w.SkipCleanup = true // the new owner clears what is left
	} else if owner.Agent == w.To {
		// The secrets of the home go last: without them nothing is left.
		if _, err := p.From.Get(ctx, k, fleet.Kubeconfig); fleet.KindOf(err) == fleet.NotFound {
			return nil, nil //nolint:nilnil // all is done
		}
	}
	homeClient, err := d.homeClient(ctx)
	if err != nil {
		return nil, err
	}
	p.Home = homeClient.Open
	return pivot.New(w, p), nil
}

// homeClient returns what opens the home as fleet.yaml wants it.
func (d *declaredPivot) homeClient(ctx context.Context) (*HomeClient, error) {
	h := d.m.Home
	installation := Installation{
		Fleet: d.m.Fleet, Cluster: h.Cluster, Version: d.s.ChartVersion, Image: h.Image, Namespace: h.Namespace, Release: h.Release,
		Branch: d.s.StatusBranch,
	}
	if h.Values != "" {
		var given map[string]any
		if err := json.Unmarshal([]byte(h.Values), &given); err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "read spec.home.values", "%w", err)
		}
		installation.Values = append(installation.Values, given)
	}
	if len(h.Addons) > 0 {
		rev, err := d.source.Resolve(ctx)
		if err != nil {
			return nil, err
		}
		tree, err := d.source.Fetch(ctx, rev)
		if err != nil {
			return nil, err
		}
		if installation.Addons, err = install.ReadAddons(tree, h.Addons); err != nil {
			return nil, err
		}
	}
	o, err := d.s.HomeOptions(installation)
	return &HomeClient{Options: o, Cluster: h.Cluster, From: d.own, open: d.s.openHome}, err
}

// stepReporter returns what tells show of the step that is next. An error that may
// pass stands until the step is another one, so that a status does not flap.
func stepReporter(show func(step, why string)) func([]pivot.Step) {
	if show == nil {
		return nil
	}
	var last pivot.Step
	failing := false
	return func(list []pivot.Step) {
		var next pivot.Step
		failed := false
		for _, s := range list {
			switch {
			case s.State != pivot.Now:
			case s.Name == pivot.Retrying && next.Name != "":
				next.Why, failed = s.Why, true
			case s.Name == pivot.Retrying:
				next, failed = s, true
			case next.Name == "":
				next = s
			}
		}
		if next.Name == "" || failing && !failed && next.Name == last.Name {
			return
		}
		last, failing = next, failed
		show(string(next.Name), next.Why)
	}
}
