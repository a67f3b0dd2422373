package escrow

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// keepGone is how long a cluster stays in escrow that the fleet no longer has.
const keepGone = 30 * 24 * time.Hour

const day = "2006-01-02"

// A Source is what is copied: a secret store, read.
type Source interface {
	Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error)
	GetSecret(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
	// ListSecrets returns the Secrets that people gave, sorted. The kind Unauthorized
	// says that it may not.
	ListSecrets(ctx context.Context) ([]fleet.Key, error)
	// FilterSecrets returns those of keys that ListSecrets would return, sorted. It
	// needs to know their names, and no right to list. With an error it returns those
	// that it could get.
	FilterSecrets(ctx context.Context, keys []fleet.Key) ([]fleet.Key, error)
}

// Options say what a Keeper keeps, and for which recipients.
type Options struct {
	Fleet      fleet.ID
	Recipients []string         // age recipients, at least one
	Now        func() time.Time // nil is time.Now
}

// A Keeper brings copies of secrets into escrow, and cannot read them there.
type Keeper struct {
	place  Place
	source Source
	o      Options
	to     []age.Recipient
	random []byte // keys digests where there is no authority yet: good for one process
}

// NewKeeper returns a keeper of the secrets in source. Errors are of kind
// Invalid.
func NewKeeper(p Place, source Source, o Options) (*Keeper, error) {
	const op = "keep secrets in escrow"
	if o.Fleet == "" || len(o.Recipients) == 0 {
		return nil, fleet.Errorf(fleet.Invalid, op, "there is no recipient to encrypt for")
	}
	o.Recipients = slices.Compact(slices.Sorted(slices.Values(o.Recipients)))
	to, err := age.ParseRecipients(strings.NewReader(strings.Join(o.Recipients, "\n")))
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	k := &Keeper{place: p, source: source, o: o, to: to, random: make([]byte, 32)}
	_, _ = rand.Read(k.random) // never fails
	return k, nil
}

// serves reports whether the file of e is encrypted for the recipients of k, and for no
// others.
func (k *Keeper) serves(e entry) bool { return slices.Equal(e.Recipients, k.o.Recipients) }

// Keep brings the escrow up to date for clusters, which are all that the fleet
// has, and for the Secrets that people gave: where the store does not let them be
// listed, for those that are in named, which the clusters refer to, or were in escrow
// before. It returns the clusters whose secrets are not in escrow as the store has
// them, or for former recipients, sorted; an error says why. A cluster that has no secrets
// yet is not behind.
func (k *Keeper) Keep(ctx context.Context, clusters, named []fleet.Key) (behind []fleet.Key, err error) {
	op := "bring secrets into escrow in " + k.place.String()
	s, err := k.place.Read(ctx)
	if err != nil {
		return clusters, err
	}
	old, err := readIndex(op, s)
	if err != nil {
		return clusters, err
	}
	if old.Fleet != "" && old.Fleet != k.o.Fleet {
		return clusters, fleet.Errorf(fleet.Conflict, op, "it is the escrow of fleet %s, this is %s: give each fleet a place of its own", old.Fleet, k.o.Fleet)
	}
	d := &draft{k: k, snapshot: s, old: old, edits: make(map[string][]byte)}
	var failed error
	authorities := []byte{}
	stored, err := reconcile.SecretsOf(ctx, k.source, clusters)
	if err != nil {
		return clusters, err
	}
	for _, c := range clusters {
		i, err := clusterItem(c, stored[c])
		if err == nil {
			authorities = append(authorities, i.authority()...)
			err = d.add(i, i.authority())
		}
		if err != nil {
			behind = append(behind, c)
			failed = first(failed, err)
		}
	}
	// Their digests are keyed with the CA certificates of all clusters. Those that are for former
	// recipients do not wait for that.
	if failed != nil && d.old.allFor(kindSecret, k.o.Recipients) {
		d.keep(kindSecret)
	} else {
		failed = first(failed, d.given(ctx, named, authorities))
	}
	d.retire(clusters, failed == nil)
	former, err := d.former()
	for _, c := range former {
		if !slices.Contains(behind, c) {
			behind = append(behind, c)
		}
	}
	failed = first(failed, err)
	if err := d.save(ctx); err != nil {
		for _, c := range d.clusters {
			if !slices.Contains(behind, c) {
				behind = append(behind, c)
			}
		}
		failed = first(failed, err)
	}
	slices.SortFunc(behind, fleet.Key.Compare)
	return behind, failed
}

// first keeps the first error: once one is fixed, the next is shown.
func first(known, next error) error {
	if known != nil {
		return known
	}
	return next
}

// clusterItem returns what the store has of c.
func clusterItem(c fleet.Key, of map[fleet.SecretName]reconcile.StoredSecret) (item, error) {
	i := item{kind: kindCluster, key: c, secrets: make(map[fleet.SecretName]fleet.SecretData)}
	for _, name := range fleet.SecretNames() {
		stored, ok := of[name]
		switch {
		case !ok:
		case stored.Err != nil:
			return item{}, stored.Err
		default:
			i.secrets[name] = stored.Data
		}
	}
	return i, nil
}
