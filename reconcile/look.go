package reconcile

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile/exec"
)

// LookerOptions are what a Looker works with. All but Now are required.
type LookerOptions struct {
	// Infrastructure returns the provider of that name.
	Infrastructure func(name string) (providers.Observer, error)
	Workload       providers.WorkloadObserver
	Distributions  providers.Distributions
	ControlPlanes  providers.HostedControlPlanes // nil: no cluster has a hosted one
	Secrets        exec.SecretReader             // a SharedStore is read as the fleet of each cluster uses it
	Given          exec.Given                    // nil: people gave the agent nothing
	Limits         providers.Limits              // of user data
	Now            func() time.Time              // default time.Now
}

// A Looker looks at clusters. It is given nothing that could change one. It is safe
// for concurrent use.
type Looker struct {
	o       LookerOptions
	drafter *providers.Drafter
	// answered is called with how the API server of a cluster answered; nil: no call.
	answered func(ctx context.Context, a providers.Access, err error)
}

// NewLooker returns a Looker.
func NewLooker(o LookerOptions) *Looker {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Looker{o: o, drafter: providers.NewDrafter(o.Limits)}
}

// secrets returns the secrets as the fleet of c uses them.
func (l *Looker) secrets(c *fleet.Cluster) exec.SecretReader {
	if s, ok := l.o.Secrets.(SharedStore); ok {
		return s.Of(c.Fleet)
	}
	return l.o.Secrets
}

// Look observes everything of c: infrastructure, secrets and, through its API
// server, nodes. The etcd members are not looked at. An API server that cannot
// be reached is an observation, not an error; anything else that cannot be seen
// is an error, since absence would be taken as proof.
func (l *Looker) Look(ctx context.Context, c *fleet.Cluster) (fleet.Observed, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wholeLook, fmt.Errorf("the look did not end within %s", wholeLook))
	defer cancel()
	o := fleet.Observed{At: l.o.Now()}
	d, err := l.o.Distributions.Of(c)
	if err != nil {
		return o, err
	}
	if c, err = l.lookAtHosted(ctx, c, &o); err != nil {
		return o, fmt.Errorf("cannot observe the control plane of %s: %w", c.Key, err)
	}
	if err := l.lookAtSites(ctx, c, &o); err != nil {
		return o, err
	}
	if c.Hosted != nil {
		o.Infrastructure.Endpoint = o.ControlPlane.Endpoint
	}
	if o.Secrets, err = l.lookAtSecrets(ctx, c, d); err != nil {
		return o, fmt.Errorf("cannot read secrets of %s: %w", c.Key, err)
	}
	if o.Workload, err = l.lookAtWorkload(ctx, c, d, o); err == nil {
		err = l.lookForUntagged(ctx, c, &o)
	}
	o.Distribution = providers.Facts(d, c, &o)
	o.Distribution.Unmade = l.drafter.Unmade(d, c, endpoint(c, &o))
	o.Until = l.o.Now()
	stabilise(&o)
	return o, err
}

// Look is that of a Looker, with the charts that r began to change.
func (r *Reconciler) Look(ctx context.Context, c *fleet.Cluster) (fleet.Observed, error) {
	o, err := r.looker.Look(ctx, c)
	if err != nil {
		return o, err
	}
	infra, err := r.o.Infrastructure(c.Provider)
	if err != nil {
		return o, err
	}
	o.Workload.ReleaseTries = providers.ChartsOf(infra, r.o.Charts).Tries(c.Key)
	stabilise(&o)
	return o, nil
}

func (l *Looker) lookAtSecrets(ctx context.Context, c *fleet.Cluster, d providers.Distribution) (fleet.SecretState, error) {
	s := fleet.SecretState{
		NotAfter:  make(map[fleet.SecretName]time.Time),
		Rotations: make(map[fleet.SecretName]fleet.RotationState), Marks: make(map[fleet.SecretName]string),
	}
	k, store := c.Key, l.secrets(c)
	if keeper, ok := store.(SecretKeeper); ok && c.Delete {
		var err error
		if s.Kept, err = keeper.Kept(ctx, k); err != nil {
			return s, err
		}
	}
	var authorities string // the mark of those of the cluster, where they were ever rotated
	for _, need := range d.Needs(c) {
		name := need.Name
		d, err := exec.Needed(ctx, store, l.o.Given, c, need)
		switch {
		case fleet.KindOf(err) == fleet.NotFound, err == nil && need.Given && !name.Complete(d):
			s.Missing = append(s.Missing, name)
		case err != nil:
			return s, err
		}
		if need.Given {
			continue
		}
		if state := fleet.RotationOf(d); state != (fleet.RotationState{}) {
			s.Rotations[name], s.Marks[name] = state, fleet.AuthorityChecksum(name, d)
			if name == fleet.ClusterCA {
				authorities = fleet.TrustChecksum(d[fleet.TLSCertKey].Reveal())
			}
		}
		if at, ok := expiry(d); ok {
			s.NotAfter[name] = at
		}
	}
	stored, err := store.Get(ctx, k, fleet.Kubeconfig)
	switch {
	case fleet.KindOf(err) == fleet.NotFound:
		return s, nil
	case err != nil:
		return s, err
	}
	s.Kubeconfig, err = d.InspectKubeconfig(stored)
	s.Kubeconfig.Former = authorities != "" && s.Kubeconfig.Trust != authorities
	return s, err
}

// expiry returns when the certificate of an authority expires. The one of
// service accounts is a pair of keys, which does not.
func expiry(d fleet.SecretData) (time.Time, bool) {
	block, _ := pem.Decode(d[fleet.TLSCertKey].Reveal())
	if block == nil || block.Type != "CERTIFICATE" {
		return time.Time{}, false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, false
	}
	return c.NotAfter, true
}

func (l *Looker) lookAtWorkload(ctx context.Context, c *fleet.Cluster, d providers.Distribution, o fleet.Observed) (fleet.Workload, error) {
	switch {
	case !o.Secrets.Kubeconfig.Exists:
		return fleet.Workload{Message: "no kubeconfig was issued yet"}, nil
	case c.Hosted != nil && !o.ControlPlane.Ready:
		return fleet.Workload{Message: o.ControlPlane.Message}, nil
	case c.Hosted != nil:
	case o.Silence == "" && !mayAnswer(c, o.Infrastructure):
		return fleet.Workload{Message: "no control-plane machine is running"}, nil
	}
	access, err := l.access(ctx, c, d)
	if err != nil {
		return fleet.Workload{}, err
	}
	access.Certificates = c.ControlPlane.CertificatesExpiryDays > 0
	access.External = c.Delete && !c.LeaveExternal && (c.Hosted == nil || !o.ControlPlane.External)
	w, err := l.o.Workload.Observe(ctx, access)
	if err == nil {
		err = d.Observe(ctx, access, &w)
	}
	if l.answered != nil {
		l.answered(ctx, access, err)
	}
	switch {
	case err == nil:
		return w, nil
	case ctx.Err() != nil:
		return w, fleet.Errorf(fleet.Unavailable, "observe nodes of "+c.Key.String(), "%w", ctx.Err())
	}
	return fleet.Workload{Message: err.Error()}, nil
}

// access returns what is needed to reach the API server of c.
func (l *Looker) access(ctx context.Context, c *fleet.Cluster, d providers.Distribution) (providers.Access, error) {
	plane, err := l.o.ControlPlanes.Of(c)
	if err != nil {
		return providers.Access{}, err
	}
	return exec.Access(ctx, l.secrets(c), c, plane, d.Needs(c))
}

// mayAnswer reports whether it is of use to call the API server: a
// control-plane machine runs, or may run though its infrastructure calls it failed, or none can
// be seen at all. What answers in spite
// of that is a cluster whose machines lost their tags, or that lives elsewhere: a
// second one must not be made beside it, nor its secrets be deleted.
func mayAnswer(c *fleet.Cluster, i fleet.Infrastructure) bool {
	there := false
	for _, m := range i.Machines {
		if m.Provider != "" {
			continue
		}
		if m.Role != fleet.RoleControlPlane && m.Damaged == "" { // one with damaged tags may be one
			continue
		}
		if there = true; m.State == fleet.MachineRunning || m.State == fleet.MachineFailed {
			return true
		}
	}
	return !there && (!c.Delete || !i.Exists && !slices.ContainsFunc(i.Machines, func(m fleet.Machine) bool { return m.Provider == "" }))
}

// answered notes how the API server of a cluster answered, and watches one that did.
func (r *Reconciler) answered(ctx context.Context, a providers.Access, err error) {
	if k := fleet.KindOf(err); err == nil || (k != fleet.Unavailable && k != fleet.Unanswered) {
		r.memory(a.Cluster).heard(r.o.Now()) // a refusal is an answer too
	}
	if err != nil {
		r.o.Log.DebugContext(ctx, "cannot observe nodes", "cluster", a.Cluster, "error", err)
		return
	}
	r.watch(ctx, a)
}

// watch asks to be told when nodes of the cluster change. The watch outlives
// the pass that began it: Forget ends it.
func (r *Reconciler) watch(ctx context.Context, a providers.Access) {
	if r.o.Changed == nil || r.memory(a.Cluster).watching(string(a.Kubeconfig.Reveal())) {
		return
	}
	r.o.Workload.Watch(context.WithoutCancel(ctx), a, func() { r.o.Changed(a.Cluster) })
}

func (r *Reconciler) lookAtEtcd(ctx context.Context, c *fleet.Cluster, d providers.Distribution) (*fleet.Etcd, error) {
	access, err := r.looker.access(ctx, c, d)
	if err != nil {
		return nil, err
	}
	return d.Members(ctx, access)
}
