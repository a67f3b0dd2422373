package escrow

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

const (
	indexName    = "index.yaml"
	indexVersion = 1
	indexHeader  = "# Written by Fairlead. The files beside it are encrypted with age.\n"
	// indexMark is in each index that says of each entry who can decrypt it. It is a
	// comment because earlier versions refuse a field that they do not know.
	indexMark = "# An entry without recipients is encrypted for those of the index.\n"
)

// unknownRecipients are those of an entry of an index without indexMark: the index may name
// recipients that the file is not encrypted for.
const unknownRecipients = "unknown"

// An index tells what is in escrow.
type index struct {
	Version    int      `json:"version"`
	Fleet      fleet.ID `json:"fleet"`
	Recipients []string `json:"recipients"`
	Entries    []entry  `json:"entries"` // sorted
}

// An entry tells of one file.
type entry struct {
	Kind   string             `json:"kind"`
	Name   string             `json:"name"`            // NAMESPACE/NAME
	Holds  []fleet.SecretName `json:"holds,omitempty"` // of a cluster, sorted
	Digest string             `json:"digest"`          // keyed, of what is in it
	Sum    string             `json:"sum"`             // SHA-256 of the file as it lies there
	Gone   string             `json:"gone,omitempty"`  // day since which the fleet no longer has it
	// Recipients are those that the file is encrypted for. The index leaves them out where
	// they are its own.
	Recipients []string `json:"recipients,omitempty"`
}

// The kinds of entries.
const (
	kindCluster = "cluster"
	kindSecret  = "secret"
)

func (e entry) path() string {
	if e.Kind == kindCluster {
		return "clusters/" + e.Name + ".age"
	}
	return "secrets/" + e.Name + ".age"
}

func (e entry) compare(o entry) int {
	return cmp.Or(cmp.Compare(e.Kind, o.Kind), cmp.Compare(e.Name, o.Name))
}

// String names it for people.
func (e entry) String() string {
	if e.Kind == kindCluster {
		return "the secrets of cluster " + e.Name
	}
	return "Secret " + e.Name
}

// keys returns the names of what is there of a kind.
func (i index) keys(kind string) []fleet.Key {
	var keys []fleet.Key
	for _, e := range i.Entries {
		if k, err := fleet.ParseKey(e.Name); err == nil && e.Kind == kind {
			keys = append(keys, k)
		}
	}
	return keys
}

// allFor reports whether all files of a kind are encrypted for recipients.
func (i index) allFor(kind string, recipients []string) bool {
	return !slices.ContainsFunc(i.Entries, func(e entry) bool { return e.Kind == kind && !slices.Equal(e.Recipients, recipients) })
}

// readIndex returns the index in files, a zero one where there is none.
func readIndex(op string, files fs.FS) (index, error) {
	b, err := fs.ReadFile(files, indexName)
	if errors.Is(err, fs.ErrNotExist) {
		return index{}, nil
	}
	if err != nil {
		return index{}, fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	var i index
	if err := documents.UnmarshalStrict(b, &i, indexLimits()); err != nil {
		return index{}, fleet.Errorf(fleet.Invalid, op, "%s cannot be read: %w", indexName, err)
	}
	if i.Version != indexVersion {
		return index{}, fleet.Errorf(fleet.Invalid, op, "%s is of version %d, this program knows %d", indexName, i.Version, indexVersion)
	}
	marked := bytes.HasPrefix(b, []byte(indexHeader+indexMark))
	for n, e := range i.Entries {
		switch {
		case len(e.Recipients) > 0:
		case marked || e.Gone != "": // what the fleet no longer has cannot be encrypted again
			i.Entries[n].Recipients = i.Recipients
		default:
			i.Entries[n].Recipients = []string{unknownRecipients}
		}
		k, err := fleet.ParseKey(e.Name)
		if err != nil || !fs.ValidPath(e.path()) || k.String() != e.Name || e.Kind != kindCluster && e.Kind != kindSecret {
			return index{}, fleet.Errorf(fleet.Invalid, op, "%s tells of a %s %q, and there is no such thing", indexName, e.Kind, e.Name)
		}
	}
	return i, nil
}

func (i index) encode() ([]byte, error) {
	i.Version = indexVersion
	i.Entries = slices.SortedFunc(slices.Values(i.Entries), entry.compare)
	for n, e := range i.Entries {
		if slices.Equal(e.Recipients, i.Recipients) {
			i.Entries[n].Recipients = nil
		}
	}
	b, err := yaml.Marshal(i)
	if err != nil {
		return nil, err
	}
	b = append([]byte(indexHeader+indexMark), b...)
	if err := documents.Check(b, indexLimits()); err != nil { // it could not be restored
		return nil, fleet.Errorf(fleet.Exhausted, "write "+indexName, "%w", err)
	}
	return b, nil
}

// indexLimits are those of the index of some ten thousand clusters.
func indexLimits() documents.Limits {
	return documents.Limits{Bytes: 16 << 20, Documents: 10, Nodes: 400_000, Depth: 10, Expanded: 16 << 20}
}

// isFormer reports whether the file of e is encrypted for other recipients than those of the index.
func (i index) isFormer(e entry) bool {
	return !slices.Equal(e.Recipients, i.Recipients) && !slices.Equal(e.Recipients, []string{unknownRecipients})
}

// find returns the entry of that kind and name.
func (i index) find(kind, name string) (entry, bool) {
	n := slices.IndexFunc(i.Entries, func(e entry) bool { return e.Kind == kind && e.Name == name })
	if n < 0 {
		return entry{}, false
	}
	return i.Entries[n], true
}

// file returns the file of e: as it lies there, or as it was staged before the index that
// tells of it was written. An error says that there is none, or another one.
func (e entry) file(files fs.FS) ([]byte, error) {
	b, err := fs.ReadFile(files, e.path())
	if err == nil && sumOf(b) == e.Sum {
		return b, nil
	}
	if staged, err := fs.ReadFile(files, stagedName(e.path())); err == nil && sumOf(staged) == e.Sum {
		return staged, nil
	}
	if err != nil {
		return nil, errors.New("the file is missing: " + e.path())
	}
	return nil, errors.New("the file is not the one that the index tells of: " + e.path())
}

// intact reports whether the file of e lies there as it was written.
func (e entry) intact(files fs.FS) bool {
	b, err := fs.ReadFile(files, e.path())
	return err == nil && sumOf(b) == e.Sum
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func same(files fs.FS, name string, content []byte) bool {
	b, err := fs.ReadFile(files, name)
	return err == nil && bytes.Equal(b, content)
}
