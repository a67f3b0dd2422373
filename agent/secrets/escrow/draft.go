package escrow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

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
// What the store has lost is left unchanged, and is an error where the store has
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
	if known && e.Digest == sum && d.k.serves(e) && e.intact(d.snapshot) {
		e.Gone = ""
		d.entries = append(d.entries, e)
		return nil
	}
	file, err := encrypt(plain, d.k.to)
	if err != nil {
		return fleet.Errorf(fleet.Unknown, op, "%w", err)
	}
	e = entry{Kind: i.kind, Name: i.key.String(), Holds: i.holds(), Digest: sum, Sum: sumOf(file), Recipients: d.k.o.Recipients}
	d.entries = append(d.entries, e)
	d.edits[e.path()] = file
	d.names = append(d.names, e.String())
	if i.kind == kindCluster {
		d.clusters = append(d.clusters, i.key)
	}
	return nil
}

// given adds the Secrets that people gave. Their digests are keyed with all
// CA certificates of the fleet.
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

// retire takes over what the fleet no longer has, from the day on that it was
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
		if _, missing := fs.Stat(d.snapshot, e.path()); !d.k.serves(e) && errors.Is(missing, fs.ErrNotExist) {
			continue // a person removed what the former recipients could read
		}
		if sure && err == nil && today.Sub(since) > keepGone {
			d.edits[e.path()] = nil
			d.names = append(d.names, e.String()+", gone since "+e.Gone)
			continue
		}
		d.entries = append(d.entries, e)
	}
}

// former returns the clusters whose files are encrypted for former recipients, and an error
// that says of which files that is true, and until when.
func (d *draft) former() (clusters []fleet.Key, err error) {
	var names []string
	until := ""
	for _, e := range d.entries {
		if d.k.serves(e) {
			continue
		}
		names = append(names, e.String())
		if since, err := time.Parse(day, e.Gone); err == nil {
			until = max(until, since.Add(keepGone).Format(day))
			continue
		}
		if key, err := fleet.ParseKey(e.Name); err == nil && e.Kind == kindCluster {
			clusters = append(clusters, key)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	text := names[0]
	if n := len(names) - 1; n > 0 {
		text = fmt.Sprintf("%s and %d more", text, n)
	}
	if until != "" {
		text += "; what the fleet does not have any more stays until " + until + " at the latest, or until you delete its file in the escrow"
	}
	return clusters, fleet.Errorf(fleet.Conflict, "encrypt the escrow for the recipients of spec.escrow", "these files stay encrypted for former recipients until the store has their content: %s", text)
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
