package escrow

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"filippo.io/age"

	"fairlead.dev/fleet"
)

// An Escrow is an escrow that was opened with an identity.
type Escrow struct {
	Fleet   fleet.ID
	Entries []Entry // sorted
	items   []item  // beside Entries; one that cannot be read is zero
}

// An Entry is one file, and whether it can be restored.
type Entry struct {
	Name    string // "cluster prod/eu-1", "secret prod/login"
	Holds   []fleet.SecretName
	Gone    string // day since which the fleet no longer has it, or nothing
	Problem string // why it cannot be restored, or nothing
}

// Open reads an escrow with the age identities in content, and checks all of
// it: each file against the index, and that it can be decrypted. What is wrong
// with one file is its Problem; without an identity nothing is decrypted, and
// files are compared with the index alone.
func Open(ctx context.Context, p Place, content fleet.Secret) (*Escrow, error) {
	op := "open escrow in " + p.String()
	var identities []age.Identity
	if !content.IsZero() {
		var err error
		if identities, err = age.ParseIdentities(bytes.NewReader(content.Reveal())); err != nil {
			return nil, fleet.Errorf(fleet.Unauthorized, op, "the identity file holds no age identity (AGE-SECRET-KEY-1…), or more than that")
		}
	}
	s, err := p.Read(ctx)
	if err != nil {
		return nil, err
	}
	i, err := readIndex(op, s)
	if err != nil {
		return nil, err
	}
	if i.Version == 0 {
		return nil, fleet.Errorf(fleet.NotFound, op, "there is no escrow: look whether spec.escrow of fleet.yaml names this place")
	}
	e := &Escrow{Fleet: i.Fleet}
	for _, entry := range i.Entries {
		it, problem := open(s, i, entry, identities)
		e.Entries = append(e.Entries, Entry{Name: entry.Kind + " " + entry.Name, Holds: entry.Holds, Gone: entry.Gone, Problem: problem})
		e.items = append(e.items, it)
	}
	return e, nil
}

// open reads one file and says what is wrong with it.
func open(files fs.FS, of index, e entry, identities []age.Identity) (item, string) {
	file, err := e.file(files)
	if err != nil {
		return item{}, err.Error()
	}
	if identities == nil && of.isFormer(e) {
		return item{}, "the file is encrypted for former recipients: " + strings.Join(e.Recipients, ", ")
	}
	if identities == nil {
		return item{}, ""
	}
	plain, err := decrypt(file, identities)
	if err != nil {
		return item{}, err.Error()
	}
	it, err := decode(plain, of.Fleet, e)
	if err != nil {
		return item{}, err.Error()
	}
	if !slices.Equal(it.holds(), e.Holds) {
		return item{}, "it does not hold what the index tells of"
	}
	if secret := it.authority(); len(secret) > 0 {
		if sum, err := digest(secret, plain); err != nil || sum != e.Digest {
			return item{}, "its content is not the one that the index tells of"
		}
	}
	return it, ""
}

// Problems returns the entries that cannot be restored, as text.
func (e *Escrow) Problems() []string {
	var out []string
	for _, entry := range e.Entries {
		if entry.Problem != "" {
			out = append(out, entry.Name+": "+entry.Problem)
		}
	}
	return out
}

// A Store is what secrets are restored into.
type Store interface {
	Source
	Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error)
	SetSecret(ctx context.Context, k fleet.Key, d fleet.SecretData) error
}

// Restored is what became of one secret.
type Restored struct {
	Name   string `json:"name"` // "cluster prod/eu-1 ca", "secret prod/login"
	Result string `json:"result"`
}

// The results of restoring.
const (
	ResultRestored = "restored"
	ResultThere    = "there already"
	ResultAnother  = "another there already" // of kubeconfigs, which agents renew
)

// Restore stores everything that the store does not have, reads it back and
// compares. A secret that the store has otherwise is of kind Conflict and is
// left alone: which of both is right only a person can say. A kubeconfig is
// made from the CA certificates, so the one that is there is as good. Entries with a
// Problem are left out. It may be repeated.
func (e *Escrow) Restore(ctx context.Context, to Store) ([]Restored, error) {
	var out []Restored
	var failed []error
	for n, it := range e.items {
		if e.Entries[n].Problem != "" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(it.secrets)) {
			r := Restored{Name: e.Entries[n].Name}
			var err error
			if it.kind == kindCluster {
				r.Name += " " + string(name)
			}
			if r.Result, err = restore(ctx, to, it, name); err != nil {
				failed = append(failed, err)
				continue
			}
			out = append(out, r)
		}
	}
	return out, errors.Join(failed...)
}

func restore(ctx context.Context, to Store, it item, name fleet.SecretName) (string, error) {
	op := "restore " + strings.TrimSpace(it.kind+" "+it.key.String()+" "+string(name))
	get := func() (fleet.SecretData, error) { return to.GetSecret(ctx, it.key) }
	if it.kind == kindCluster {
		get = func() (fleet.SecretData, error) { return to.Get(ctx, it.key, name) }
	}
	want := it.secrets[name]
	stored, err := get()
	if err == nil {
		switch {
		case equal(stored, want):
			return ResultThere, nil
		case name == fleet.Kubeconfig:
			return ResultAnother, nil
		}
		return "", fleet.Errorf(fleet.Conflict, op, "the store has another one: remove the one that is wrong")
	}
	if fleet.KindOf(err) != fleet.NotFound {
		return "", err
	}
	if it.kind == kindCluster {
		_, err = to.Create(ctx, it.key, name, want)
	} else {
		err = to.SetSecret(ctx, it.key, want)
	}
	if err != nil {
		return "", err
	}
	if stored, err = get(); err != nil {
		return "", err
	}
	if !equal(stored, want) {
		return "", fleet.Errorf(fleet.Conflict, op, "the store does not give back what was stored")
	}
	return ResultRestored, nil
}

func equal(a, b fleet.SecretData) bool {
	return maps.EqualFunc(a, b, func(x, y fleet.Secret) bool { return bytes.Equal(x.Reveal(), y.Reveal()) })
}
