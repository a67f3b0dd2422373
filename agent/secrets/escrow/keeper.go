package escrow

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// keepGone is how long a cluster stays in escrow that the fleet has no more.
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

// Options say for whom a Keeper keeps what.
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

// Keep brings the escrow up to date for clusters, which are all that the fleet
// has, and for the Secrets that people gave: where the store does not let them be
// listed, for those that are in named, which the clusters refer to, or were in escrow
// before. It returns the clusters whose secrets are not in escrow as the store has
// them, sorted; an error says why. A cluster that has no secrets yet is not behind.
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
	if failed != nil {
		d.keep(kindSecret) // their digests are keyed with the authorities of all
	} else {
		failed = d.given(ctx, named, authorities)
	}
	d.retire(clusters, failed == nil)
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

// first keeps the first error: one that is mended shows the next.
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

// A draft is the next state of an escrow.
type draft struct {
	k        *Keeper
	snapshot Snapshot
	old      index
	entries  []entry
	edits    map[string][]byte
	names    []string    // of what is new or changed, for the message
	clusters []fleet.Key // that are new or changed
}

// add puts i into the draft: as it lies there already where nothing changed.
// What the store has lost is left as it is, and is an error where the store has
// something of it.
func (d *draft) add(i item, secret []byte) error {
	op := "bring " + entry{Kind: i.kind, Name: i.key.String()}.String() + " into escrow"
	e, known := d.old.find(i.kind, i.key.String())
	if len(i.secrets) == 0 {
		if known {
			e.Gone = ""
			d.entries = append(d.entries, e)
		}
		return nil
	}
	for _, name := range e.Holds {
		if _, ok := i.secrets[name]; !ok {
			d.entries = append(d.entries, e)
			return fleet.Errorf(fleet.Conflict, op, "the store has lost %s, which is in escrow: restore it with fairlead secrets escrow restore", name)
		}
	}
	plain, err := i.encode(d.k.o.Fleet)
	if err != nil {
		return fleet.Errorf(fleet.Unknown, op, "%w", err)
	}
	if len(secret) == 0 {
		secret = d.k.random
	}
	sum, err := digest(secret, plain)
	if err != nil {
		return fleet.Errorf(fleet.Unknown, op, "%w", err)
	}
	if known && e.Digest == sum && slices.Equal(d.old.Recipients, d.k.o.Recipients) && e.intact(d.snapshot) {
		e.Gone = ""
		d.entries = append(d.entries, e)
		return nil
	}
	file, err := encrypt(plain, d.k.to)
	if err != nil {
		return fleet.Errorf(fleet.Unknown, op, "%w", err)
	}
	e = entry{Kind: i.kind, Name: i.key.String(), Holds: i.holds(), Digest: sum, Sum: sumOf(file)}
	d.entries = append(d.entries, e)
	d.edits[e.path()] = file
	d.names = append(d.names, e.String())
	if i.kind == kindCluster {
		d.clusters = append(d.clusters, i.key)
	}
	return nil
}

// given adds the Secrets that people gave. Their digests are keyed with all
// authorities of the fleet.
func (d *draft) given(ctx context.Context, named []fleet.Key, authorities []byte) error {
	keys, err := d.k.source.ListSecrets(ctx)
	var failed error
	if fleet.KindOf(err) == fleet.Unauthorized {
		keys, failed = d.k.source.FilterSecrets(ctx, append(d.old.keys(kindSecret), named...))
		err = nil
		if failed != nil { // what could not be got is there perhaps
			d.keepSome(kindSecret, func(k fleet.Key) bool { return !slices.Contains(keys, k) })
		}
	}
	if err != nil {
		d.keep(kindSecret)
		return err
	}
	for _, key := range keys {
		data, err := d.k.source.GetSecret(ctx, key)
		if fleet.KindOf(err) == fleet.NotFound {
			continue
		}
		if err == nil {
			err = d.add(item{kind: kindSecret, key: key, secrets: map[fleet.SecretName]fleet.SecretData{given: data}}, authorities)
		}
		if err != nil {
			failed = first(failed, err)
			if e, ok := d.old.find(kindSecret, key.String()); ok {
				d.entries = append(d.entries, e)
			}
		}
	}
	return failed
}

// keep takes over what is in escrow of that kind.
func (d *draft) keep(kind string) { d.keepSome(kind, func(fleet.Key) bool { return true }) }

// keepSome is keep for the names that pass.
func (d *draft) keepSome(kind string, pass func(fleet.Key) bool) {
	for _, e := range d.old.Entries {
		if k, err := fleet.ParseKey(e.Name); e.Kind == kind && err == nil && pass(k) {
			d.entries = append(d.entries, e)
		}
	}
}

// retire takes over what the fleet has no more, from the day on that it was
// missed first, and lets go of what was missed for long. Where something could
// not be read nothing is let go of.
func (d *draft) retire(clusters []fleet.Key, sure bool) {
	today := d.k.o.Now().UTC()
	for _, e := range d.old.Entries {
		if slices.ContainsFunc(d.entries, func(n entry) bool { return n.compare(e) == 0 }) {
			continue
		}
		if key, err := fleet.ParseKey(e.Name); err == nil && e.Kind == kindCluster && slices.Contains(clusters, key) {
			d.entries = append(d.entries, e) // could not be read from the store
			continue
		}
		if e.Gone == "" {
			e.Gone = today.Format(day)
		}
		since, err := time.Parse(day, e.Gone)
		if sure && err == nil && today.Sub(since) > keepGone {
			d.edits[e.path()] = nil
			d.names = append(d.names, e.String()+", gone since "+e.Gone)
			continue
		}
		d.entries = append(d.entries, e)
	}
}

// save writes the draft, if it changes anything.
func (d *draft) save(ctx context.Context) error {
	if len(d.entries) == 0 && len(d.old.Entries) == 0 {
		return nil
	}
	next := index{Fleet: d.k.o.Fleet, Recipients: d.k.o.Recipients, Entries: d.entries}
	b, err := next.encode()
	if err != nil {
		return err
	}
	if len(d.edits) == 0 && same(d.snapshot, indexName, b) {
		return nil
	}
	d.edits[indexName] = b
	return d.k.place.Write(ctx, d.snapshot, d.edits, d.message())
}

func (d *draft) message() string {
	if len(d.names) == 0 {
		return "escrow: the index"
	}
	slices.Sort(d.names)
	var b bytes.Buffer
	fmt.Fprintf(&b, "escrow: %s", d.names[0])
	if n := len(d.names) - 1; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	return b.String()
}
