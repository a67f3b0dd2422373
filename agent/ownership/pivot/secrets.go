package pivot

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// A secretRef names one secret that is moved: a cluster's, or one that a person gave.
type secretRef struct {
	cluster fleet.Key
	name    fleet.SecretName
	given   fleet.Key // the Secret that a person gave; then name is empty
}

// String implements fmt.Stringer.
func (p secretRef) String() string {
	if p.name == "" {
		return p.given.String()
	}
	return p.cluster.Namespace + "/" + p.cluster.Name + "-" + string(p.name)
}

// get returns the secret in s, or false where there is none.
func (p secretRef) get(ctx context.Context, s secrets.Store) (fleet.SecretData, bool, error) {
	var d fleet.SecretData
	var err error
	if p.name == "" {
		d, err = s.GetSecret(ctx, p.given)
	} else {
		d, err = s.Get(ctx, p.cluster, p.name)
	}
	if fleet.KindOf(err) == fleet.NotFound {
		return nil, false, nil
	}
	return d, err == nil, err
}

// put stores d. It never replaces an authority: another one under that name belongs to
// another cluster, or is a mistake.
func (p secretRef) put(ctx context.Context, s secrets.Store, d fleet.SecretData) error {
	switch p.name {
	case "":
		return p.putGiven(ctx, s, d)
	case fleet.Kubeconfig:
		return s.Replace(ctx, p.cluster, p.name, d)
	}
	stored, err := s.Create(ctx, p.cluster, p.name, d)
	if err == nil && !same(stored, d) {
		return fleet.Errorf(fleet.Invalid, "move secret "+p.String(), "there is another one where it is to go: remove that there, if it belongs to nothing")
	}
	return err
}

// putGiven stores d as the fleet's own. It replaces no Secret of another fleet, or of none:
// another fleet may use that.
func (p secretRef) putGiven(ctx context.Context, s secrets.Store, d fleet.SecretData) error {
	_, there, err := p.get(ctx, s)
	if err != nil {
		return err
	}
	if shared, ok := ownerOf(s); ok && there {
		mine, err := shared.Owns(ctx, p.given)
		if err != nil {
			return err
		}
		if !mine {
			return fleet.Errorf(fleet.Invalid, "move secret "+p.String(), "there is another one where it is to go, which is of no fleet: remove that, or give it the label %s of this fleet to have it replaced", fleet.TagFleet)
		}
	}
	return s.SetSecret(ctx, p.given, d)
}

// listSecrets returns the secrets of clusters in s, and those that people gave.
func listSecrets(ctx context.Context, s secrets.Store, clusters []fleet.Key) ([]secretRef, error) {
	var list []secretRef
	for _, k := range clusters {
		for _, name := range fleet.SecretNames() {
			p := secretRef{cluster: k, name: name}
			_, ok, err := p.get(ctx, s)
			if err != nil {
				return nil, err
			}
			if ok {
				list = append(list, p)
			}
		}
	}
	given, err := s.ListSecrets(ctx)
	for _, k := range given {
		list = append(list, secretRef{given: k})
	}
	return list, err
}

// owned returns the secrets of list that belong to this fleet alone in s, and that s may
// remove. Secrets that people brought are not among them.
func owned(ctx context.Context, s secrets.Store, list []secretRef) ([]secretRef, error) {
	var out []secretRef
	for _, p := range list {
		mine, err := p.ownedIn(ctx, s)
		if err != nil {
			return nil, err
		}
		if mine {
			out = append(out, p)
		}
	}
	return out, nil
}

func (p secretRef) ownedIn(ctx context.Context, s secrets.Store) (bool, error) {
	if p.name == "" {
		if d, ok := ownerOf(s); ok {
			return d.Owns(ctx, p.given)
		}
		return true, nil
	}
	keeper, ok := s.(reconcile.SecretKeeper)
	if !ok {
		return true, nil
	}
	kept, err := keeper.Kept(ctx, p.cluster)
	return !slices.Contains(kept, p.name), err
}

// digest identifies the content of a secret.
func digest(d fleet.SecretData) [sha256.Size]byte {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(d)) {
		value := d[key].Reveal()
		_, _ = fmt.Fprintf(h, "%q %d\n", key, len(value))
		_, _ = h.Write(value)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Digest identifies the content of several secrets.
func Digest(sets ...fleet.SecretData) [sha256.Size]byte {
	h := sha256.New()
	for _, d := range sets {
		sum := digest(d)
		_, _ = h.Write(sum[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func same(a, b fleet.SecretData) bool {
	x, y := digest(a), digest(b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// differences returns the secrets of from that to lacks, or has with another content.
func differences(ctx context.Context, from, to secrets.Store, list []secretRef) ([]secretRef, error) {
	var out []secretRef
	for _, p := range list {
		a, ok, err := p.get(ctx, from)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		b, there, err := p.get(ctx, to)
		if err != nil {
			return nil, err
		}
		if !there || !same(a, b) {
			out = append(out, p)
		}
	}
	return out, nil
}

// leftover returns the secrets of from that to has as well, so that they can be removed. A
// kubeconfig is issued again now and then, and may differ.
func leftover(ctx context.Context, from, to secrets.Store, clusters []fleet.Key) ([]secretRef, error) {
	here, there, err := takeSnapshots(ctx, from, to, clusters)
	if err != nil {
		return nil, err
	}
	from, to = here, there
	list, err := listSecrets(ctx, from, clusters)
	if err == nil {
		list, err = owned(ctx, from, list)
	}
	if err != nil {
		return nil, err
	}
	missing, err := differences(ctx, from, to, list)
	if err != nil {
		return nil, err
	}
	var out []secretRef
	for _, p := range list {
		if p.name == fleet.Kubeconfig {
			if _, ok, err := p.get(ctx, to); err != nil || !ok {
				continue
			}
		} else if slices.Contains(missing, p) {
			return nil, fleet.Errorf(fleet.Invalid, "remove secrets", "%s differs from the copy of the new owner: it stays here, with all others", p)
		}
		out = append(out, p)
	}
	return out, nil
}
