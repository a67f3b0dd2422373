package adopt

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
)

// An Overlay is a secrets.Store that can also read the secrets that the management cluster
// has of the clusters under adoption. With it everything can be checked before anything is
// stored.
type Overlay struct {
	secrets.Store

	mu       sync.Mutex
	clusters map[fleet.Key]map[fleet.SecretName]fleet.SecretData
	given    map[fleet.Key]fleet.SecretData
}

// NewOverlay returns an Overlay on s, as the fleet id uses that, with nothing added.
func NewOverlay(s secrets.Store, id fleet.ID) *Overlay {
	return &Overlay{Store: secrets.OfFleet(s, id), clusters: make(map[fleet.Key]map[fleet.SecretName]fleet.SecretData), given: make(map[fleet.Key]fleet.SecretData)}
}

func (l *Overlay) add(f *existing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clusters[f.key] = f.authorities
	for _, s := range f.credentials {
		l.given[keyOf(s)] = dataOf(s)
	}
}

// Get implements secrets.Store.
func (l *Overlay) Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	d, err := l.Store.Get(ctx, c, name)
	if fleet.KindOf(err) != fleet.NotFound {
		return d, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.clusters[c][name]; ok {
		return maps.Clone(d), nil
	}
	return nil, err
}

// GetSecret implements secrets.Store.
func (l *Overlay) GetSecret(ctx context.Context, k fleet.Key) (fleet.SecretData, error) {
	d, err := l.Store.GetSecret(ctx, k)
	if fleet.KindOf(err) != fleet.NotFound {
		return d, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.given[k]; ok {
		return maps.Clone(d), nil
	}
	return nil, err
}

// same reports whether b has all values of a.
func same(a, b fleet.SecretData) bool {
	for k, v := range a {
		if w, ok := b[k]; !ok || !bytes.Equal(v.Reveal(), w.Reveal()) {
			return false
		}
	}
	return true
}

// checkSecrets checks that the store has no other CA certificates for the cluster: they would
// belong to another cluster.
func (a *Adoption) checkSecrets(ctx context.Context, c *candidate) error {
	for _, name := range c.names() {
		if name == fleet.Kubeconfig {
			continue
		}
		d, err := a.o.Secrets.Store.Get(ctx, c.key, name)
		if fleet.KindOf(err) == fleet.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		if !same(c.authorities[name], d) {
			c.addProblem(c.cluster, "", "name the right store with --secrets, or remove them there", "the secret store has another %s for %s", name, c.key)
		}
	}
	return nil
}

// store puts the cluster's secrets into the store, and reads them back.
func (a *Adoption) store(ctx context.Context, c *candidate) error {
	names := c.names()
	if len(names) > 0 {
		a.o.OnStep(c.key, Secrets, fmt.Sprintf("%v into the secret store", names))
	}
	if !a.o.DryRun {
		for _, name := range names {
			if err := a.storeOne(ctx, c, name); err != nil {
				return err
			}
		}
	}
	return a.storeCredentials(ctx, c)
}

func (a *Adoption) storeOne(ctx context.Context, c *candidate, name fleet.SecretName) error {
	d := c.authorities[name]
	got, err := a.o.Secrets.Create(ctx, c.key, name, d)
	if err != nil {
		return err
	}
	if name == fleet.Kubeconfig && !same(d, got) { // another kubeconfig for the same cluster
		if err := a.o.Secrets.Replace(ctx, c.key, name, d); err != nil {
			return err
		}
	}
	if got, err = a.o.Secrets.Store.Get(ctx, c.key, name); err != nil {
		return err
	}
	if !same(d, got) {
		return fleet.Errorf(fleet.Conflict, "store "+string(name)+" of "+c.key.String(), "the secret store has another one")
	}
	return nil
}

// adoptSecrets removes the owners of the secrets in the store. It comes after the pause,
// since controllers that run would make themselves owners again.
func (a *Adoption) adoptSecrets(ctx context.Context, c *candidate) error {
	t, ok := a.o.Secrets.Store.(secrets.Adopter)
	if !ok {
		return nil
	}
	a.o.OnStep(c.key, Secrets, "are the fleet's own in the store: no object of Cluster API owns them")
	if a.o.DryRun {
		return nil
	}
	for _, name := range c.names() {
		if err := t.Adopt(ctx, c.key, name); err != nil {
			return err
		}
	}
	for _, s := range c.credentials {
		if a.inGit(c.existing, s) || a.o.Credentials == Nowhere {
			continue
		}
		if err := t.AdoptSecret(ctx, keyOf(s)); err != nil {
			return err
		}
	}
	return nil
}

// releaseSecrets lets objects of Cluster API own the secrets in the store again.
func (a *Adoption) releaseSecrets(ctx context.Context, k fleet.Key) error {
	t, ok := a.o.Secrets.Store.(secrets.Adopter)
	if !ok || a.o.DryRun {
		return nil
	}
	for _, name := range fleet.SecretNames() {
		if err := t.Release(ctx, k, name); err != nil {
			return err
		}
	}
	return nil
}

// storeCredentials puts the credentials of providers where Credentials says.
func (a *Adoption) storeCredentials(ctx context.Context, c *candidate) error {
	for _, s := range c.credentials {
		k := keyOf(s)
		switch {
		case a.inGit(c.existing, s):
			a.o.OnStep(c.key, Secrets, fmt.Sprintf("Secret %s is in the folder, encrypted", k))
		case a.o.Credentials == Nowhere:
			a.o.OnStep(c.key, Secrets, fmt.Sprintf("Secret %s stays where it is; before Fairlead follows the cluster, run: fairlead secrets set %s %s", k, k, fromFiles(dataOf(s))))
		default:
			d := dataOf(s)
			have, err := a.o.Secrets.Store.GetSecret(ctx, k)
			if err == nil && same(d, have) {
				continue
			}
			if err != nil && fleet.KindOf(err) != fleet.NotFound {
				return err
			}
			if err == nil {
				return fleet.Errorf(fleet.Conflict, "store Secret "+k.String(), "the secret store has another one of that name (remove it there: fairlead secrets delete %s)", k)
			}
			a.o.OnStep(c.key, Secrets, fmt.Sprintf("Secret %s into the secret store", k))
			if a.o.DryRun {
				continue
			}
			if err := a.o.Secrets.SetSecret(ctx, k, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// fromFiles returns the flags that name the values of a Secret.
func fromFiles(d fleet.SecretData) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(d)) {
		out = append(out, "--from-file "+key+"=FILE")
	}
	return strings.Join(out, " ")
}
