// Package exec carries out plans. It is the only package that changes the
// world, and it decides nothing: what may run, and why, stands in the action.
package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// tokenTTL is how long a bootstrap token is good for after each refresh.
// Source: Cluster API, bootstrap/kubeadm: the default of --bootstrap-token-ttl.
const tokenTTL = 15 * time.Minute

// planLife is how long what was decided on a look may be begun. What is older, since
// actions waited for each other or the agent was suspended, is decided again: machines,
// Nodes and members of etcd may have changed since.
const planLife = 5 * time.Minute

// longestAction is when an action without an answer is given up. Calls have limits of their own in most
// providers; the next pass over the cluster is not to hang on those.
const longestAction = 10 * time.Minute

// ErrStale is why an action was not begun that was decided on too long ago. Nothing
// is wrong then: another look decides again.
var ErrStale = errors.New("not started: what it was decided on was seen too long ago")

// A SecretReader reads the secrets of clusters.
type SecretReader interface {
	// Get returns the secret, or an error of kind NotFound.
	Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error)
}

// Secrets is what the executor needs of a secret store.
type Secrets interface {
	SecretReader
	Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error)
	Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error
	Delete(ctx context.Context, c fleet.Key) error
}

// Memory keeps what was begun, for as long as it may still surface.
type Memory interface {
	// Begin records a before it is asked for.
	Begin(a fleet.Action, at time.Time)
	// End records the outcome and when it came: nil is a yes, an error for which
	// fleet.Refused is true is a no, any other leaves the attempt open.
	End(a fleet.Action, err error, at time.Time)
}

// An Executor runs the actions of plans. It is safe for concurrent use.
type Executor struct {
	Workload providers.Workload
	Charts   providers.Charts
	// May is asked right before each action, and again right before a machine is
	// made: the right to act can end while a plan is carried out. Nil permits all.
	May      func(fleet.Key) error
	Now      func() time.Time
	Log      *slog.Logger
	Parallel int // actions of one plan at once
}

// An Environment is what the actions of one plan are carried out on.
type Environment struct {
	Cluster        *fleet.Cluster
	Infrastructure providers.Infrastructure            // of the first site
	Guests         map[string]providers.Infrastructure // the others, by provider
	ControlPlane   providers.HostedControlPlane        // nil: machines are it
	Distribution   providers.Distribution
	Secrets        Secrets
	Given          Given          // nil: people gave the agent nothing
	Endpoint       fleet.Endpoint // of the API server, as observed
	Memory         Memory
	Seen           time.Time // when the look began that the actions were decided on
}

// An Outcome is what came of one action.
type Outcome struct {
	Action fleet.Action
	Err    error // nil: done
}

// Run carries out actions, bounded and in parallel, and returns an outcome for
// each, in their order. One that fails does not stop the others.
func (e *Executor) Run(ctx context.Context, w Environment, actions []fleet.Action) []Outcome {
	out := make([]Outcome, len(actions))
	var g errgroup.Group
	g.SetLimit(max(1, e.Parallel))
	for i, a := range actions {
		g.Go(func() error {
			out[i] = Outcome{Action: a, Err: e.run(ctx, w, a)}
			return nil
		})
	}
	_ = g.Wait() // every error is in its outcome
	return out
}

func (e *Executor) run(ctx context.Context, w Environment, a fleet.Action) error {
	if err := permitted(w.Cluster, a); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fleet.Errorf(fleet.Unavailable, describe(a), "not started: %w", err)
	}
	if e.Now().Sub(w.Seen) > planLife {
		return fleet.Errorf(fleet.Unavailable, describe(a), "%w", ErrStale)
	}
	if err := e.may(a); err != nil {
		return err
	}
	e.Log.InfoContext(ctx, "Carrying out action", "cluster", a.Cluster, "action", a.Name(),
		"subject", a.Subject(), "operation", a.Operation, "reason", a.Reason)
	w.Memory.Begin(a, e.Now())
	err := e.end(ctx, w, a)
	w.Memory.End(a, err, e.Now())
	if err != nil {
		return fmt.Errorf("cannot %s: %w", describe(a), err)
	}
	return nil
}

// end does a, or gives it up.
func (e *Executor) end(ctx context.Context, w Environment, a fleet.Action) error {
	if hasManyCalls(a.Kind) {
		return e.do(ctx, w, a)
	}
	ctx, cancel := context.WithTimeout(ctx, longestAction)
	defer cancel()
	err := e.do(ctx, w, a)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w (given up after %s without an answer)", err, longestAction)
	}
	return err
}

// hasManyCalls reports whether an action of that kind makes a call for each of many objects, of which each has a
// limit of its own.
func hasManyCalls(kind fleet.ActionKind) bool {
	switch kind {
	case fleet.ApplyResources, fleet.PruneResources, fleet.InstallRelease, fleet.UninstallRelease, fleet.DeleteExternalResources:
		return true
	}
	return false
}

// may says whether the right to act still holds.
func (e *Executor) may(a fleet.Action) error {
	if e.May == nil {
		return nil
	}
	return e.May(a.Cluster)
}

// permitted looks once more, at the last moment, whether a may be done at all.
func permitted(c *fleet.Cluster, a fleet.Action) error {
	if a.Cluster != c.Key {
		return fleet.Errorf(fleet.Invalid, describe(a), "it is meant for %s, not %s", a.Cluster, c.Key)
	}
	whole := a.Kind == fleet.DeleteInfrastructure || a.Kind == fleet.DeleteControlPlane || a.Kind == fleet.DeleteSecrets || a.Kind == fleet.DeleteExternalResources
	if a.Kind == fleet.DeleteInfrastructure && a.Provider != "" && !c.InUse(a.Provider) {
		return nil // Git has nothing there
	}
	if _, kept := c.KeptPool(a.Pool); a.Kind == fleet.DeletePool && kept && (!c.Delete || c.Protect) {
		return fleet.Errorf(fleet.Invalid, describe(a), "pool %s of %s is not meant to be deleted", a.Pool, c.Key)
	}
	if whole && (!c.Delete || c.Protect) {
		return fleet.Errorf(fleet.Invalid, describe(a), "%s is not meant to be deleted", c.Key)
	}
	return nil
}

func describe(a fleet.Action) string { return a.String() + " of " + a.Cluster.String() }

func (e *Executor) do(ctx context.Context, w Environment, a fleet.Action) error {
	switch a.Kind {
	case fleet.EnsureInfrastructure, fleet.DeleteInfrastructure, fleet.DeleteMachine, fleet.SwitchOff, fleet.SwitchOn, fleet.EnsurePool, fleet.DeletePool:
		return w.change(ctx, a)
	case fleet.EnsureCertificates:
		return e.ensureAuthorities(ctx, w)
	case fleet.EnsureKubeconfig:
		return e.ensureKubeconfig(ctx, w)
	case fleet.CreateMachine:
		return e.createMachine(ctx, w, a)
	case fleet.RotateAuthority:
		return e.rotate(ctx, w, a)
	case fleet.RefreshToken:
		return e.admit(ctx, w, providers.BootstrapInput{Cluster: w.Cluster, Machine: a.Machine})
	case fleet.EnsureControlPlane, fleet.DeleteControlPlane:
		return e.changeHosted(ctx, w, a)
	case fleet.DeleteSecrets:
		e.Workload.Forget(w.Cluster.Key)
		return w.Secrets.Delete(ctx, w.Cluster.Key)
	}
	return e.doInWorkload(ctx, w, a)
}

func (e *Executor) doInWorkload(ctx context.Context, w Environment, a fleet.Action) error {
	c := w.Cluster
	access, err := Access(ctx, w.Secrets, c, w.ControlPlane, w.Distribution.Needs(c))
	if err != nil {
		return err
	}
	switch a.Kind {
	case fleet.SyncNode:
		p, ok := c.Pool(a.Pool)
		if !ok {
			return fleet.Errorf(fleet.Invalid, describe(a), "%s has no pool %q", c.Key, a.Pool)
		}
		if a.Outdated {
			p = p.OfOutdated()
		}
		return e.Workload.SyncNode(ctx, access, a.Node, a.Machine, p)
	case fleet.DrainNode:
		return e.Workload.Drain(ctx, access, a.Node, c.DrainRulesOf(a.Pool))
	case fleet.UncordonNode:
		return e.Workload.Uncordon(ctx, access, a.Node)
	case fleet.RemoveMember:
		if err := w.leaveEndpoint(ctx, a); err != nil {
			return err
		}
		return w.Distribution.RemoveMember(ctx, access, fleet.Member{ID: a.Member, Node: a.Node})
	case fleet.DeleteNode:
		return e.Workload.DeleteNode(ctx, access, a.Node)
	case fleet.ApplyStep:
		return w.Distribution.Apply(ctx, access, c, w.Endpoint, a.Step)
	case fleet.ApplyResources:
		s, ok := c.ResourceSet(a.Addon)
		if !ok {
			return fleet.Errorf(fleet.Invalid, describe(a), "%s has no ClusterResourceSet %q", c.Key, a.Addon)
		}
		return e.Workload.ApplyResources(ctx, access, s, a.Resources)
	case fleet.PruneResources:
		s, ok := c.ResourceSet(a.Addon)
		if !ok {
			s = fleet.ResourceSet{Name: a.Addon}
		}
		return e.Workload.PruneResources(ctx, access, s, a.Objects)
	case fleet.InstallRelease:
		r, ok := c.Release(a.Release)
		if !ok {
			return fleet.Errorf(fleet.Invalid, describe(a), "%s has no release %s", c.Key, a.Release)
		}
		return providers.ChartsOf(w.Infrastructure, e.Charts).Install(ctx, access, r)
	case fleet.UninstallRelease:
		return providers.ChartsOf(w.Infrastructure, e.Charts).Uninstall(ctx, access, a.Release)
	case fleet.DeleteExternalResources:
		return e.Workload.DeleteExternalResources(ctx, access, a.External)
	}
	return fleet.Errorf(fleet.Invalid, describe(a), "there is no action %q", a.Kind)
}

func (e *Executor) createMachine(ctx context.Context, w Environment, a fleet.Action) error {
	c := w.Cluster
	p, ok := c.Pool(a.Pool)
	if !ok || p.Provider != a.Provider {
		return fleet.Errorf(fleet.Invalid, describe(a), "%s has no pool %q", c.Key, a.Pool)
	}
	infra, err := w.site(a)
	if err != nil {
		return err
	}
	in := providers.BootstrapInput{
		Cluster: c, Pool: p, Machine: a.Machine, Join: a.Join, Endpoint: w.Endpoint,
	}
	can := providers.AbilitiesOf(infra)
	if can.NodeIdentifier != nil {
		in.NodeID = can.NodeIdentifier.NodeID()
	}
	if can.SecretAnswerer != nil {
		answers, err := can.SecretAnswerer.AnswerSecrets(ctx, c, p)
		if err != nil {
			return err
		}
		in.Cluster = c.WithAnswers(answers)
	}
	if can.VirtualIPs != nil && p.Role == fleet.RoleControlPlane {
		if in.VirtualIP, err = can.VirtualIPs.VirtualIP(c); err != nil {
			return err
		}
	}
	if in.Secrets, err = w.secrets(ctx, func(n fleet.SecretNeed) bool { return n.Workers || p.Role == fleet.RoleControlPlane }); err != nil {
		return err
	}
	if a.Join != fleet.JoinInit {
		if err := e.admit(ctx, w, in); err != nil {
			return err
		}
	}
	data, err := w.Distribution.UserData(in)
	if err != nil {
		return err
	}
	// Secrets and tokens took their time, and another agent may own the fleet by now.
	if err := e.may(a); err != nil {
		return err
	}
	return infra.CreateMachine(ctx, a.Operation, providers.MachineRequest{
		Cluster: c.At(a.Provider), Pool: p, Name: a.Machine, FailureDomain: a.FailureDomain, UserData: data, APIPort: p.ListensAt(a.Join),
		Origin:   fleet.Origin{Made: e.Now(), Remediation: a.Remediation, Trust: c.Trust(p.Role, marksOf(in.Secrets))},
		Endpoint: w.Endpoint,
	})
}

// marksOf identifies what machines are made with of secrets.
func marksOf(secrets map[fleet.SecretName]fleet.SecretData) map[fleet.SecretName]string {
	marks := make(map[fleet.SecretName]string, len(secrets))
	for name, d := range secrets {
		marks[name] = fleet.AuthorityChecksum(name, d)
	}
	return marks
}

// admit has the cluster let the machine of in join.
func (e *Executor) admit(ctx context.Context, w Environment, in providers.BootstrapInput) error {
	if in.Secrets == nil {
		var err error
		if in.Secrets, err = w.secrets(ctx, func(n fleet.SecretNeed) bool { return n.Workers }); err != nil {
			return err
		}
	}
	access, err := Access(ctx, w.Secrets, w.Cluster, w.ControlPlane, w.Distribution.Needs(w.Cluster))
	if err != nil {
		return err
	}
	return w.Distribution.Admit(ctx, access, in, tokenTTL)
}
