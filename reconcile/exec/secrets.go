package exec

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// ensureAuthorities stores new CA certificates where none are stored. What another
// agent stored meanwhile stays.
func (e *Executor) ensureAuthorities(ctx context.Context, w Environment) error {
	c := w.Cluster
	made, err := w.Distribution.NewSecrets(c, e.Now())
	if err != nil {
		return err
	}
	for _, need := range w.Distribution.Needs(c) {
		if need.Given || need.Hosted {
			continue
		}
		if _, err := w.Secrets.Create(ctx, c.Key, need.Name, made[need.Name]); err != nil {
			return err
		}
	}
	return nil
}

// rotate takes the rotation of an authority to its next stage.
func (e *Executor) rotate(ctx context.Context, w Environment, a fleet.Action) error {
	d, err := w.Secrets.Get(ctx, w.Cluster.Key, a.Authority)
	if err != nil {
		return err
	}
	to := fleet.RotationState{Wish: a.Wish, Stage: a.Stage, Since: e.Now()}
	next, err := w.Distribution.Rotate(w.Cluster, a.Authority, d, to)
	if err != nil || fleet.RotationOf(next) == fleet.RotationOf(d) {
		return err
	}
	return w.Secrets.Replace(ctx, w.Cluster.Key, a.Authority, next)
}

func (e *Executor) ensureKubeconfig(ctx context.Context, w Environment) error {
	c := w.Cluster
	if w.ControlPlane != nil {
		return e.storeHosted(ctx, w)
	}
	secrets, err := w.secrets(ctx, func(n fleet.SecretNeed) bool { return !n.Given })
	if err != nil {
		return err
	}
	k, err := w.Distribution.NewKubeconfig(c, w.Endpoint, secrets, e.Now())
	if err != nil {
		return err
	}
	return w.Secrets.Replace(ctx, c.Key, fleet.Kubeconfig, k)
}

// secrets returns the needs of the cluster for which is holds, by name.
func (w Environment) secrets(ctx context.Context, is func(fleet.SecretNeed) bool) (map[fleet.SecretName]fleet.SecretData, error) {
	c, out := w.Cluster, make(map[fleet.SecretName]fleet.SecretData, 4)
	for _, need := range w.Distribution.Needs(c) {
		if !is(need) {
			continue
		}
		d, err := Needed(ctx, w.Secrets, w.Given, c, need)
		if err != nil {
			return nil, err
		}
		out[need.Name] = d
	}
	return out, nil
}

// Given returns a Secret that people gave the agent for the use of a fleet, or an error of
// kind NotFound.
type Given func(ctx context.Context, id fleet.ID, k fleet.Key) (fleet.SecretData, error)

// Needed returns the secret that c has a need for. One that people give is in Git, or
// they gave it to the agent under its name in Cluster API, or it was stored for c as when c
// was adopted; given may be nil. An error of kind NotFound says that there is none.
func Needed(ctx context.Context, s SecretReader, given Given, c *fleet.Cluster, need fleet.SecretNeed) (fleet.SecretData, error) {
	if !need.Given {
		return s.Get(ctx, c.Key, need.Name)
	}
	if d, ok := c.InGit(need.Name); ok {
		return d, nil
	}
	if given != nil {
		d, err := given(ctx, c.Fleet, c.SecretKey(need.Name))
		if fleet.KindOf(err) != fleet.NotFound {
			return d, err
		}
	}
	return s.Get(ctx, c.Key, need.Name)
}

// Access returns what is needed to reach the API server of c and to look inside, where its distribution has
// these needs. Its control plane may give tokens; plane is nil where machines are it. An error of kind
// NotFound says that there is no kubeconfig yet.
func Access(ctx context.Context, s SecretReader, c *fleet.Cluster, plane providers.HostedControlPlane, needs []fleet.SecretNeed) (providers.Access, error) {
	k := c.Key
	d, err := s.Get(ctx, k, fleet.Kubeconfig)
	if err != nil {
		return providers.Access{}, err
	}
	a := providers.Access{Cluster: k, Kubeconfig: d[fleet.KubeconfigKey], Tokens: providers.TokensOf(plane, c), Hosted: c.Hosted}
	for _, need := range needs {
		if !need.Inside {
			continue
		}
		secret, err := s.Get(ctx, k, need.Name)
		if err != nil && fleet.KindOf(err) != fleet.NotFound {
			return providers.Access{}, err
		}
		if a.Secrets == nil {
			a.Secrets = make(map[fleet.SecretName]fleet.SecretData)
		}
		a.Secrets[need.Name] = secret
	}
	return a, nil
}
