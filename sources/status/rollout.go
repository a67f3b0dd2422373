package status

import (
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// rolloutFile is a fleet.RolloutStatus.
type rolloutFile struct {
	Stages    []stageFile    `json:"stages,omitempty"`
	Waiting   []waitFile     `json:"waiting,omitempty"`
	Standings []standingFile `json:"standings,omitempty"`
	Departed  []departedFile `json:"departed,omitempty"`
	// People are those that several standings share: they name their place in the list, from 1.
	People []peopleFile `json:"people,omitempty"`
}

// peopleFile is fleet.WavePeople without the digest.
type peopleFile struct {
	Authors   []string       `json:"authors,omitempty"`
	Approvals []approverFile `json:"approvals,omitempty"`
	Later     []string       `json:"later,omitempty"`
}

type approverFile struct {
	By  string `json:"by"`
	Key string `json:"key,omitempty"`
}

type stageFile struct {
	Name     string       `json:"name"`
	State    string       `json:"state"`
	Why      string       `json:"why,omitempty"`
	Until    string       `json:"until,omitempty"` // RFC 3339
	Since    string       `json:"since,omitempty"` // RFC 3339
	Clusters int          `json:"clusters"`
	Changing int          `json:"changing,omitempty"`
	Waiting  int          `json:"waiting,omitempty"`
	Failed   []failedFile `json:"failed,omitempty"`
	Digest   string       `json:"digest,omitempty"`

	Approvals int      `json:"approvals,omitempty"`
	Approved  []string `json:"approved,omitempty"`
}

type failedFile struct {
	Cluster string `json:"cluster"` // namespace/name
	Why     string `json:"why"`
}

type waitFile struct {
	Cluster  string    `json:"cluster"` // namespace/name
	Stage    string    `json:"stage"`
	Revision *revision `json:"revision,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	Why      string    `json:"why,omitempty"`
	Until    string    `json:"until,omitempty"` // RFC 3339
	Since    string    `json:"since,omitempty"` // RFC 3339
}

type standingFile struct {
	Cluster string `json:"cluster"` // namespace/name
	Digest  string `json:"digest"`
	Since   string `json:"since,omitempty"` // RFC 3339
	Arrived string `json:"arrived,omitempty"`
	At      string `json:"at,omitempty"`    // RFC 3339
	Waits   string `json:"waits,omitempty"` // RFC 3339

	Release  *waveRelease `json:"release,omitempty"`
	Came     *originFile  `json:"came,omitempty"`
	People   *peoplePlace `json:"people,omitempty"`
	Stage    string       `json:"stage,omitempty"`
	Before   *revision    `json:"before,omitempty"`
	Troubled string       `json:"troubled,omitempty"` // RFC 3339
}

// departedFile is a fleet.Departure.
type departedFile struct {
	Cluster string `json:"cluster"` // namespace/name
	Stage   string `json:"stage"`
	Since   string `json:"since,omitempty"` // RFC 3339
	At      string `json:"at,omitempty"`    // RFC 3339
	Trouble string `json:"trouble,omitempty"`
}

// peoplePlace names an item of rolloutFile.People.
type peoplePlace struct {
	Of    string `json:"of"`
	Place int    `json:"place"` // from 1
}

// originFile is a fleet.WaveOrigin.
type originFile struct {
	Of   string    `json:"of"`
	From *revision `json:"from"`
	To   *revision `json:"to"`
}

// waveRelease is a fleet.WaveRelease.
type waveRelease struct {
	Way   string `json:"way"`
	Of    string `json:"of"`
	Stage bool   `json:"stage,omitempty"`
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// stamped is the inverse of stamp. A time that cannot be read is none.
func stamped(s string) time.Time {
	t, _ := time.Parse(time.RFC3339, s)
	return t.UTC()
}

func rolloutOf(s fleet.RolloutStatus) *rolloutFile {
	if s.IsZero() {
		return nil
	}
	f := &rolloutFile{}
	for _, st := range s.Stages {
		line := stageFile{
			Name: st.Name, State: string(st.State), Why: oneLine(st.Why, 500), Until: stamp(st.Until), Since: stamp(st.Since),
			Clusters: st.Clusters, Changing: st.Changing, Waiting: st.Waiting, Digest: st.Digest,
			Approvals: st.Approvals, Approved: st.Approved,
		}
		for _, c := range st.Failed {
			line.Failed = append(line.Failed, failedFile{c.Cluster.String(), oneLine(c.Why, 500)})
		}
		f.Stages = append(f.Stages, line)
	}
	for _, w := range s.Waiting {
		f.Waiting = append(f.Waiting, waitFile{w.Cluster.String(), w.Stage, revisionOf(w.Revision), w.Digest, oneLine(w.Why, 500), stamp(w.Until), stamp(w.Since)})
	}
	for _, c := range s.Standings {
		line := standingFile{Cluster: c.Cluster.String(), Digest: c.Digest, Since: stamp(c.Since), Arrived: c.Arrived, At: stamp(c.At), Waits: stamp(c.Waits), Stage: c.Stage, Troubled: stamp(c.Troubled)}
		if !c.Before.IsZero() {
			line.Before = revisionOf(c.Before)
		}
		if r := c.Release; r.Way != "" {
			line.Release = &waveRelease{string(r.Way), r.Of, r.Stage}
		}
		if c.Came != (fleet.WaveOrigin{}) {
			line.Came = &originFile{c.Came.Of, revisionOf(c.Came.From), revisionOf(c.Came.To)}
		}
		if p := c.People; p.Of != "" {
			line.People = &peoplePlace{p.Of, f.place(p)}
		}
		f.Standings = append(f.Standings, line)
	}
	for _, d := range s.Departed {
		f.Departed = append(f.Departed, departedFile{d.Cluster.String(), d.Stage, stamp(d.Since), stamp(d.At), oneLine(d.Trouble, 500)})
	}
	return f
}

// place returns the place of p among the people of f, and adds them if they are not there.
func (f *rolloutFile) place(p fleet.WavePeople) int {
	one := peopleFile{Authors: p.Authors, Later: p.Later}
	for _, a := range p.Approvals {
		one.Approvals = append(one.Approvals, approverFile(a))
	}
	same := func(o peopleFile) bool {
		return slices.Equal(o.Authors, one.Authors) && slices.Equal(o.Later, one.Later) && slices.Equal(o.Approvals, one.Approvals)
	}
	if i := slices.IndexFunc(f.People, same); i >= 0 {
		return i + 1
	}
	f.People = append(f.People, one)
	return len(f.People)
}

// peopleAt is the inverse of place. A place that is not there has no people.
func (f *rolloutFile) peopleAt(p *peoplePlace) fleet.WavePeople {
	if p == nil || p.Place < 1 || p.Place > len(f.People) {
		return fleet.WavePeople{}
	}
	one := f.People[p.Place-1]
	out := fleet.WavePeople{Of: p.Of, Authors: one.Authors, Later: one.Later}
	for _, a := range one.Approvals {
		out.Approvals = append(out.Approvals, fleet.Approver(a))
	}
	return out
}

// fleet is the inverse of rolloutOf. Lines whose cluster cannot be read are skipped.
func (f *rolloutFile) fleet() fleet.RolloutStatus {
	var s fleet.RolloutStatus
	if f == nil {
		return s
	}
	for _, st := range f.Stages {
		out := fleet.StageStatus{
			Name: st.Name, State: fleet.StageState(st.State), Why: st.Why, Until: stamped(st.Until), Since: stamped(st.Since),
			Clusters: st.Clusters, Changing: st.Changing, Waiting: st.Waiting, Digest: st.Digest,
			Approvals: st.Approvals, Approved: st.Approved,
		}
		for _, c := range st.Failed {
			if k, err := fleet.ParseKey(c.Cluster); err == nil {
				out.Failed = append(out.Failed, fleet.FailedCluster{Cluster: k, Why: c.Why})
			}
		}
		s.Stages = append(s.Stages, out)
	}
	for _, w := range f.Waiting {
		if k, err := fleet.ParseKey(w.Cluster); err == nil {
			s.Waiting = append(s.Waiting, fleet.Wait{
				Cluster: k, Stage: w.Stage, Revision: w.Revision.fleet(), Digest: w.Digest, Why: w.Why, Until: stamped(w.Until), Since: stamped(w.Since),
			})
		}
	}
	for _, c := range f.Standings {
		k, err := fleet.ParseKey(c.Cluster)
		if err != nil {
			continue
		}
		out := fleet.Standing{Cluster: k, Digest: c.Digest, Since: stamped(c.Since), Arrived: c.Arrived, At: stamped(c.At), Waits: stamped(c.Waits), Stage: c.Stage, Troubled: stamped(c.Troubled), Before: c.Before.fleet()}
		if r := c.Release; r != nil {
			out.Release = fleet.WaveRelease{Way: fleet.ReleaseWay(r.Way), Of: r.Of, Stage: r.Stage}
		}
		if c.Came != nil {
			out.Came = fleet.WaveOrigin{Of: c.Came.Of, From: c.Came.From.fleet(), To: c.Came.To.fleet()}
		}
		out.People = f.peopleAt(c.People)
		s.Standings = append(s.Standings, out)
	}
	for _, d := range f.Departed {
		if k, err := fleet.ParseKey(d.Cluster); err == nil {
			s.Departed = append(s.Departed, fleet.Departure{Cluster: k, Stage: d.Stage, Since: stamped(d.Since), At: stamped(d.At), Trouble: d.Trouble})
		}
	}
	return s
}
