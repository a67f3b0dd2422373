package status

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
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
}

// Scales are the numbers of machines on a status branch that Git leaves to
// somebody else.
type Scales struct {
	branch sources.Branch
}

// NewScales returns those on branch.
func NewScales(branch sources.Branch) *Scales { return &Scales{branch: branch} }

// List returns all, sorted. Where single files cannot be read, the error names
// them and is of kind Invalid, and the list has all the others.
func (q *Scales) List(ctx context.Context) ([]fleet.Scale, error) {
	_, t, err := q.branch.Read(ctx)
	if err != nil {
		return nil, err
	}
	return readScales(t)
}

// Decide writes list and drops gone, in one commit, as of, the owner of the
// fleet. The error is of kind Conflict where that is not the owner any more.
func (q *Scales) Decide(ctx context.Context, of fleet.Owner, list, gone []fleet.Scale) error {
	const op = "write numbers of machines"
	for wait := (backoff{}); ; {
		head, t, err := q.branch.Read(ctx)
		if err != nil {
			return err
		}
		now, err := readOwner(t)
		if err != nil {
			return err
		}
		if now != of {
			return fleet.Errorf(fleet.Conflict, op, "%w", deposedBy(now, of))
		}
		c, err := scaleCommit(t, list, gone)
		if err != nil || len(c.Edits) == 0 {
			return err
		}
		c.Trailers = trailers(fleet.Revision{}, of)
		_, err = q.branch.Commit(ctx, head, c)
		if k := fleet.KindOf(err); k != fleet.Conflict && k != fleet.Unanswered {
			return err
		}
		if wait.sleep(ctx) != nil {
			return fleet.Errorf(fleet.KindOf(err), op, "%w", err)
		}
	}
}

// scaleCommit returns the commit that makes list and gone so on t.
func scaleCommit(t fs.FS, list, gone []fleet.Scale) (sources.Commit, error) {
	there, _ := readScales(t) // who cannot be read is written again
	c := sources.Commit{Edits: make(map[string][]byte)}
	var lines []string
	for _, s := range gone {
		if i := slices.IndexFunc(there, s.Same); i >= 0 {
			c.Edits[scalePath(s)] = nil
			lines = append(lines, fmt.Sprintf("%s/%s: not scaled any more", s.Cluster.Namespace, s.Pool))
		}
	}
	for _, s := range list {
		if slices.ContainsFunc(there, s.Is) {
			continue
		}
		content, err := encodeDocs(s.String(), scaleFileOf(s))
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

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ", " + reason
}

// readScales returns what the tree of a status branch says on numbers of
// machines, sorted.
func readScales(t fs.FS) ([]fleet.Scale, error) {
	return readFolder(t, scalesDir, readScale, fleet.Scale.Compare)
}

func readScale(t fs.FS, p string) (fleet.Scale, error) {
	b, err := fs.ReadFile(t, p)
	if err != nil {
		return fleet.Scale{}, err
	}
	var f scaleFile
	if err := documents.UnmarshalStrict(b, &f, limits()); err != nil {
		return fleet.Scale{}, err
	}
	if f.Kind != "Scale" || f.APIVersion != apiVersion {
		return fleet.Scale{}, fmt.Errorf("it is not an %s Scale", apiVersion)
	}
	s := fleet.Scale{Pool: fleet.PoolName(f.Pool), Replicas: f.Replicas, Reason: f.Reason}
	if s.Cluster, err = fleet.ParseKey(f.Cluster); err != nil {
		return fleet.Scale{}, err
	}
	for _, id := range f.Remove {
		s.Remove = append(s.Remove, fleet.ProviderID(id))
	}
	slices.Sort(s.Remove)
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
		typeMeta: typeMeta{APIVersion: apiVersion, Kind: "Scale"},
		Cluster:  s.Cluster.String(), Pool: string(s.Pool), Replicas: s.Replicas, Reason: s.Reason,
	}
	for _, id := range s.Remove {
		f.Remove = append(f.Remove, string(id))
	}
	return f
}
