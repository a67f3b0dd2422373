package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// scalesDir is the folder of what was decided on numbers of machines:
//
//	scales/<namespace>/<cluster>/<pool>.yaml
const scalesDir = "scales"

// scaleFile is a fleet.Scale.
type scaleFile struct {
	typeMeta
	Cluster  string   `json:"cluster"` // namespace/name
	Pool     string   `json:"pool"`
	Replicas int      `json:"replicas"`
	Remove   []string `json:"remove,omitempty"` // provider ids
	Reason   string   `json:"reason,omitempty"`

	At        *time.Time `json:"at,omitempty"`        // of the decision, where it is signed
	Signature string     `json:"signature,omitempty"` // of all but itself
}

// A signedScale is what is in one file.
type signedScale struct {
	fleet.Scale
	signature string
}

// Scales are the numbers of machines on a status branch that Git leaves to
// somebody else.
type Scales struct {
	branch sources.Branch
	// Sign, if not nil, returns the signature, in armour, of what Decide writes.
	Sign func(content []byte) (string, error)
	// Verify, if not nil, has List say of each why it counts for nothing.
	Verify Verify
	// Owner, if not nil, returns the owner in a tree, as Arbiter.In does.
	Owner func(fs.FS) (fleet.Owner, error)
}

// NewScales returns those on branch.
func NewScales(branch sources.Branch) *Scales { return &Scales{branch: branch} }

func (q *Scales) owner(t fs.FS) (fleet.Owner, error) { return ownerIn(t, q.Owner) }

// List returns all, sorted. Where single files cannot be read, the error names
// them and is of kind Invalid, and the list has all the others.
func (q *Scales) List(ctx context.Context) ([]fleet.Scale, error) {
	_, t, err := q.branch.Read(ctx)
	if err != nil {
		return nil, err
	}
	return q.list(t)
}

// list returns all in t, with what Verify says of each.
func (q *Scales) list(t fs.FS) ([]fleet.Scale, error) {
	files, err := readFolder(t, scalesDir, readScale, func(a, b signedScale) int { return a.Compare(b.Scale) })
	var out []fleet.Scale
	for i, f := range files {
		out = append(out, f.Scale)
		if q.Verify == nil {
			continue
		}
		content, bad := signedScaleContent(f.Scale)
		if bad == nil {
			bad = q.Verify.check(content, f.signature)
		}
		if bad == nil && f.At.IsZero() { // it could be an old one again
			bad = errors.New("it does not say when it was decided: at is missing")
		}
		if bad != nil && fleet.KindOf(bad) != fleet.Unknown {
			return nil, bad
		}
		if bad != nil {
			out[i].Distrusted = bad.Error()
		}
	}
	return out, err
}

// signedScaleContent returns what is signed of a number of machines. It begins as no
// commit, tag or request does.
func signedScaleContent(s fleet.Scale) ([]byte, error) {
	b, err := json.Marshal(scaleFileOf(s))
	return append([]byte("fairlead-scale\n"), b...), err
}

// Decide writes list and drops gone, in one commit, as of, the owner of the
// fleet. The error is of kind Conflict where that is not the owner any more.
func (q *Scales) Decide(ctx context.Context, of fleet.Owner, list, gone []fleet.Scale) error {
	const op = "write numbers of machines"
	return commit(ctx, q.branch, op, func(t fs.FS, _ bool) (sources.Commit, error) {
		now, err := q.owner(t)
		if err != nil {
			return sources.Commit{}, err
		}
		if now != of {
			return sources.Commit{}, fleet.Errorf(fleet.Conflict, op, "%w", deposedBy(now, of))
		}
		c, err := q.commit(t, list, gone)
		c.Trailers = trailers(fleet.Revision{}, of)
		return c, err
	})
}

// Set writes s, as a person decides: the owner of the fleet uses it. What is signed is never
// older than what it is to replace, whatever the clocks say.
func (q *Scales) Set(ctx context.Context, s fleet.Scale) error {
	op := "decide on " + s.String()
	if _, err := scaleIn(scalePath(s), scaleFileOf(s)); err != nil {
		return fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return commitHere(ctx, q.branch, op, func(t fs.FS, _ bool) (sources.Commit, error) {
		there, err := q.list(t)
		if err != nil && fleet.KindOf(err) != fleet.Invalid {
			return sources.Commit{}, err
		}
		if i := slices.IndexFunc(there, s.SamePool); i >= 0 && there[i].Distrusted == "" && s.At.Before(there[i].At) {
			s.At = there[i].At
		}
		content, err := q.encode(s)
		return sources.Commit{
			Edits: map[string][]byte{scalePath(s): content}, Message: oneLine(s.String()+because(s.Reason), 100),
		}, err
	})
}

// commit returns the commit that makes list and gone so on t.
func (q *Scales) commit(t fs.FS, list, gone []fleet.Scale) (sources.Commit, error) {
	there, err := q.list(t) // who cannot be read is written again
	if err != nil && fleet.KindOf(err) != fleet.Invalid {
		return sources.Commit{}, err
	}
	c := sources.Commit{Edits: make(map[string][]byte)}
	var lines []string
	for _, s := range gone {
		if i := slices.IndexFunc(there, s.SamePool); i >= 0 {
			c.Edits[scalePath(s)] = nil
			lines = append(lines, fmt.Sprintf("%s/%s: not scaled any more", s.Cluster.Namespace, s.Pool))
		}
	}
	for _, s := range list {
		if slices.ContainsFunc(there, func(o fleet.Scale) bool { return s.Identical(o) && o.Distrusted == "" }) {
			continue
		}
		content, err := q.encode(s)
		if err != nil {
			return c, err
		}
		c.Edits[scalePath(s)] = content
		lines = append(lines, s.String()+because(s.Reason))
	}
	switch len(lines) {
	case 0:
	case 1:
		c.Message = oneLine(lines[0], 100)
	default:
		c.Message = fmt.Sprintf("%d numbers of machines\n\n%s", len(lines), strings.Join(lines, "\n"))
	}
	return c, nil
}

// encode returns the file of s.
func (q *Scales) encode(s fleet.Scale) ([]byte, error) {
	if q.Sign == nil {
		s.At = time.Time{} // it is there to tell an old signed one from a new one
		return scaleKind.encode(s.String(), scaleFileOf(s))
	}
	s.Reason = fleet.PlainLines(s.Reason) // as the file has it: see plain
	f := scaleFileOf(s)
	content, err := signedScaleContent(s)
	if err == nil {
		f.Signature, err = q.Sign(content)
	}
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "sign "+s.String(), "%w", err)
	}
	return scaleKind.encode(s.String(), f)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ", " + reason
}

// readScales returns what the tree of a status branch says on numbers of
// machines, sorted.
func readScales(t fs.FS) ([]fleet.Scale, error) {
	return (&Scales{}).list(t)
}

func readScale(t fs.FS, p string) (signedScale, error) {
	b, err := fs.ReadFile(t, p)
	if err != nil {
		return signedScale{}, err
	}
	var f scaleFile
	if err := scaleKind.decode(b, &f); err != nil {
		return signedScale{}, err
	}
	s, err := scaleIn(p, f)
	return signedScale{s, f.Signature}, err
}

// scaleIn returns what f, the file at p, says.
func scaleIn(p string, f scaleFile) (s fleet.Scale, err error) {
	s = fleet.Scale{Pool: fleet.PoolName(f.Pool), Replicas: f.Replicas, Reason: f.Reason}
	if s.Cluster, err = fleet.ParseKey(f.Cluster); err != nil {
		return fleet.Scale{}, err
	}
	for _, id := range f.Remove {
		s.Remove = append(s.Remove, fleet.ProviderID(id))
	}
	slices.Sort(s.Remove)
	if f.At != nil {
		s.At = f.At.UTC()
	}
	switch want := scalePath(s); {
	case s.Replicas < 0:
		return fleet.Scale{}, fmt.Errorf("replicas must not be negative, is %d", s.Replicas)
	case s.Replicas > fleet.MaxReplicas:
		return fleet.Scale{}, fmt.Errorf("replicas must be at most %d, is %d", fleet.MaxReplicas, s.Replicas)
	case want != p:
		return fleet.Scale{}, fmt.Errorf("the number of pool %s of %s is in %s", s.Pool, s.Cluster, want)
	}
	return s, nil
}

func scalePath(s fleet.Scale) string {
	return path.Join(scalesDir, s.Cluster.Namespace, s.Cluster.Name, string(s.Pool)+".yaml")
}

func scaleFileOf(s fleet.Scale) scaleFile {
	f := scaleFile{
		typeMeta: scaleKind.meta(),
		Cluster:  s.Cluster.String(), Pool: string(s.Pool), Replicas: s.Replicas, Reason: s.Reason,
	}
	for _, id := range s.Remove {
		f.Remove = append(f.Remove, string(id))
	}
	if !s.At.IsZero() {
		at := s.At.UTC()
		f.At = &at
	}
	return f
}
