package begin_test

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"fairlead.dev/agent/loop/begin"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestScripts runs the scripts in testdata. Each "start" has what is known of a start, a word
// and its fields a line, and tells the next step.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			in := begin.Input{Flags: begin.Flags{Self: "ops", Place: "here"}, Branches: map[string]begin.Branch{}}
			for line := range strings.Lines(d.Input) {
				know(&in, strings.Fields(line))
			}
			return tell(begin.Decide(in)) + "\n"
		})
	})
}

// know adds one line of a script to in.
func know(in *begin.Input, words []string) {
	fields := map[string]string{}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		fields[name] = value
	}
	has := func(name string) bool { _, ok := fields[name]; return ok }
	failed := func() error {
		if has("fails") {
			return errors.New(fields["fails"])
		}
		return nil
	}
	owner := func() (o fleet.Owner) {
		if has("owner") {
			o.Agent, o.Place, _ = strings.Cut(fields["owner"], "@")
			o.Epoch = 3
			o.Incarnation, _ = strconv.ParseInt(fields["process"], 10, 64)
		}
		return o
	}
	switch words[0] {
	case "flags":
		in.Waited, _ = time.ParseDuration(fields["waited"])
		in.Posted = fields["posted"]
		in.Branch, in.Wait, in.Signed = fields["branch"], has("wait"), has("signed")
		if has("take-over") {
			in.TakeOver = fleet.Owner{Agent: fields["take-over"], Epoch: 3}
		}
	case "tip":
		in.Tip = &begin.Tip{Err: failed(), Fleet: fleet.ID(fields["fleet"]), Branch: fields["branch"], Strays: has("strays")}
	case "branch":
		posts := map[fleet.ID]string{}
		for name, branch := range fields {
			if id, ok := strings.CutPrefix(name, "signpost-"); ok {
				posts[fleet.ID(id)] = branch
			}
		}
		in.Branches[fields["name"]] = begin.Branch{Err: failed(), Location: status.Location{Signposts: posts, Owner: owner(), Fleet: fleet.ID(fields["fleet"]), MovedTo: fields["moved"]}}
		b := in.Branches[fields["name"]]
		b.Reserved, b.Stays, b.Foreign = has("arrived"), has("stays"), has("foreign")
		b.Arrived, _ = strconv.ParseInt(fields["arrived"], 10, 64)
		b.Move, _ = strconv.ParseInt(fields["move"], 10, 64)
		if has("damaged") {
			b.Damage = errors.New("fleet.yaml is damaged")
		}
		if has("applied") {
			b.Applied = fleet.Revision{Ref: "main", Digest: fields["applied"]}
		}
		if has("renders") {
			b.Rendered = &begin.Rendered{Fleet: fleet.ID(fields["renders"])}
		}
		if has("renders-not") {
			b.Rendered = &begin.Rendered{Err: errors.New(fields["renders-not"])}
		}
		in.Branches[fields["name"]] = b
	case "at":
		in.At = fields["branch"]
	case "owner":
		in.Owner = &begin.Ownership{Err: failed(), Owner: owner(), Begun: has("begun"), Next: fleet.Succession{To: fields["next"]}}
		in.Owner.Unpushed, _ = time.ParseDuration(fields["unpushed"])
		if has("proved") {
			in.Owner.Proof = &begin.Proof{}
		}
		if has("unproved") {
			in.Owner.Proof = &begin.Proof{Err: errors.New(fields["unproved"])}
		}
	case "owned":
		in.Owned = true
	case "record":
		in.Record = &begin.Record{Err: failed()}
		if has("damaged") {
			in.Record.Damage = errors.New("damaged")
		}
		if has("applied") {
			in.Record.Applied = fleet.Revision{Ref: "main", Digest: fields["applied"]}
		}
	case "held":
		in.Held = true
	}
}

func tell(s begin.Step) string {
	out := string(s.Do)
	if s.Branch != "" {
		out += " " + s.Branch
	}
	if s.From != "" {
		out += " from " + s.From
	}
	if s.Why != nil {
		out += ": " + s.Why.Error()
	}
	return out
}

// A world is one fleet, as its branches say. All its agents are called ops.
type world struct {
	branches map[string]begin.Branch
	named    string // the status branch that the newest revision names
	refused  bool   // the newest revision
	acted    string // place of the agent that acted last
	post     string // where the signpost on the default branch leads
}

// A day is how a start goes.
type day struct {
	stop  int  // the start ends before its step of this number; 0: it goes on to its end
	empty bool // the server answers as if the repository were empty
	fails int  // reads that fail, one of so many; 0: none
}

// start takes steps until clusters are held to a revision, or the start ends, waits or is stopped,
// and returns the last step and the branch that has the status.
func (w *world) start(f begin.Flags, d day) (begin.Do, string) {
	in := begin.Input{Flags: f, Branches: map[string]begin.Branch{}}
	reads := 0
	failed := func() error {
		if reads++; d.empty || d.fails > 0 && reads%d.fails == 0 {
			return errors.New("no answer")
		}
		return nil
	}
	for n := 1; n < 30; n++ {
		step := begin.Decide(in)
		if n == d.stop {
			if step.Do == begin.Move { // half of it is done
				w.move(step, false)
			}
			return "stopped", in.At
		}
		switch step.Do {
		case begin.ReadTip:
			in.Tip = &begin.Tip{Fleet: "fleet", Branch: w.named, Err: failed()}
			if w.refused && in.Tip.Err == nil {
				in.Tip = &begin.Tip{Err: errors.New("refused")}
			}
		case begin.ReadBranch:
			b := w.branches[step.Branch]
			if err := failed(); err != nil {
				b = begin.Branch{Err: err}
				if d.empty {
					b = begin.Branch{}
				}
			}
			if step.Branch == fleet.DefaultStatusBranch && w.post != "" {
				b.Signposts = map[fleet.ID]string{"fleet": w.post}
			}
			in.Branches[step.Branch] = b
		case begin.Render:
			b := in.Branches[step.Branch]
			b.Rendered = &begin.Rendered{Fleet: "fleet", Err: failed()}
			in.Branches[step.Branch] = b
		case begin.Move:
			w.move(step, true)
			w.acted = f.Place
			in.Branches = map[string]begin.Branch{}
		case begin.Use:
			in.At = step.Branch
		case begin.ReadOwner:
			in.Owner = &begin.Ownership{Err: failed(), Owner: w.branches[in.At].Owner}
		case begin.Prove:
			in.Owner.Proof = &begin.Proof{}
		case begin.Claim:
			if d.empty { // a push is not answered by an empty repository
				return "not claimed", in.At
			}
			b := w.branches[in.At]
			b.Owner, b.Fleet = fleet.Owner{Agent: f.Self, Place: f.Place, Epoch: max(b.Owner.Epoch, 1), Incarnation: b.Owner.Incarnation + 1}, "fleet"
			w.branches[in.At] = b
			in.Owner.Owner, in.Owner.Begun = b.Owner, true
		case begin.Own:
			in.Owned, w.acted, w.post = true, f.Place, in.At
		case begin.ReadRecord:
			in.Record = &begin.Record{Err: failed(), Applied: fleet.Revision{Ref: "main", Digest: "applied"}}
		default:
			return step.Do, in.At
		}
	}
	return "does not end", in.At
}

// move moves the status, or does the first half of that.
func (w *world) move(s begin.Step, wholly bool) {
	b := w.branches[s.From]
	if b.MovedTo == "" {
		to := w.branches[s.Branch]
		to.Reserved = true
		w.branches[s.Branch] = to
		b.MovedTo, b.Move = s.Branch, b.Arrived+1
		w.branches[s.From] = b
	}
	if wholly {
		b.Arrived, b.MovedTo, b.Move = b.Move, "", 0
		w.branches[s.Branch] = b
	}
}

// clean deletes the branches that had the status, but for the default one, if the signpost says where it is.
func (w *world) clean() {
	if b := w.branches[w.post]; b.Owner == (fleet.Owner{}) || b.MovedTo != "" {
		return
	}
	maps.DeleteFunc(w.branches, func(name string, b begin.Branch) bool { return b.MovedTo != "" && name != fleet.DefaultStatusBranch })
}

// TestStartIsContinuation: whatever names commits give to the status branch, wherever starts are
// stopped, while reads fail or a repository looks empty, and although people delete former branches, the owner that starts again holds its
// clusters to what it held them to, and an agent with another secret store never acts.
func TestStartIsContinuation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"fairlead/status", "fleet/state", "fleet/second"})
		w := &world{named: name.Draw(t, "named"), branches: map[string]begin.Branch{
			"fairlead/status": {Location: status.Location{Owner: fleet.Owner{Agent: "ops", Place: "here", Epoch: 3}, Fleet: "fleet", Applied: fleet.Revision{Ref: "main", Digest: "applied"}}},
		}}
		flags := func(place string) begin.Flags {
			return begin.Flags{Self: "ops", Place: place, Branch: rapid.SampledFrom([]string{"", "", "fairlead/status", "third"}).Draw(t, "flag")}
		}
		for range rapid.IntRange(0, 6).Draw(t, "days") {
			w.named, w.refused = name.Draw(t, "named"), rapid.Bool().Draw(t, "refused")
			place := rapid.SampledFrom([]string{"here", "here", "there"}).Draw(t, "place")
			do, at := w.start(flags(place), day{
				stop: rapid.IntRange(0, 12).Draw(t, "stop"), empty: rapid.Bool().Draw(t, "empty"), fails: rapid.IntRange(0, 4).Draw(t, "fails"),
			})
			if do == "does not end" {
				t.Fatalf("the start does not end: %+v", w)
			}
			if w.acted == "there" {
				t.Fatalf("a second agent acts, on branch %s: %+v", at, w)
			}
			if rapid.Bool().Draw(t, "clean") {
				w.clean()
			}
		}
		w.refused = rapid.Bool().Draw(t, "refused")
		want := begin.HoldTip
		if w.refused {
			want = begin.HoldApplied
		}
		do, at := w.start(begin.Flags{Self: "ops", Place: "here"}, day{})
		if do != want {
			t.Fatalf("the owner that starts again: %q at %s, want %q: %+v", do, at, want, w)
		}
		if !w.refused && at != w.named {
			t.Fatalf("the status is at %s, and Git names %s: %+v", at, w.named, w)
		}
		if owner := w.branches[at].Owner; owner.Epoch != 3 {
			t.Fatalf("the status began anew at %s: %+v", at, w)
		}
	})
}

// TestFleetsOfOneRepository: several fleets have their status in one repository, and their agents have one
// name and one secret store. An agent whose newest revision is refused goes on with the status of its own
// fleet, and never touches that of another one, whichever branches their commits name.
func TestFleetsOfOneRepository(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		branches := map[string]begin.Branch{}
		posts := map[fleet.ID]string{}
		named := map[fleet.ID]string{}
		begun := map[fleet.ID]bool{}
		// Each fleet has a folder or a branch of one repository, or a repository.
		source := rapid.SampledFrom([]string{"folders", "branches", "repositories"}).Draw(t, "source")
		start := func(id fleet.ID, refused bool) (begin.Do, string) {
			in := begin.Input{Flags: begin.Flags{Self: "ops", Place: "here"}, Branches: map[string]begin.Branch{}}
			for range 40 {
				switch step := begin.Decide(in); step.Do {
				case begin.ReadTip:
					in.Tip = &begin.Tip{Fleet: id, Branch: named[id]}
					if refused {
						in.Tip = &begin.Tip{Err: errors.New("refused")}
					}
				case begin.ReadBranch:
					b := branches[step.Branch]
					b.Foreign = source == "branches" && b.Fleet != id
					if step.Branch == fleet.DefaultStatusBranch {
						b.Signposts = posts
					}
					in.Branches[step.Branch] = b
				case begin.Render:
					b := in.Branches[step.Branch]
					b.Rendered = &begin.Rendered{Fleet: id}
					switch {
					case source == "branches":
						b.Rendered.Fleet = b.Fleet
					case source == "repositories" && b.Fleet != id:
						b.Rendered = &begin.Rendered{Err: errors.New("not found")}
					}
					in.Branches[step.Branch] = b
				case begin.Post:
					if posts[id] != step.From {
						t.Fatalf("fleet %s: a signpost in place of %q, and it leads to %q", id, step.From, posts[id])
					}
					in.Posted, posts[id] = step.Branch, step.Branch
				default:
					return step.Do, step.Branch
				}
			}
			return "does not end", ""
		}
		ids := []fleet.ID{"a", "b", "c"}
		// One of them may be on the default branch.
		first := rapid.SampledFrom(append(ids, "")).Draw(t, "on the default branch")
		for range rapid.IntRange(1, 12).Draw(t, "starts") {
			id := rapid.SampledFrom(ids).Draw(t, "fleet")
			own := string(id) + "/state"
			if id == first {
				own = fleet.DefaultStatusBranch
			}
			named[id] = own
			if other := rapid.SampledFrom(ids).Draw(t, "named by mistake"); begun[other] && begun[id] {
				named[id] = string(other) + "/state"
				if other == first {
					named[id] = fleet.DefaultStatusBranch
				}
			}
			refused := rapid.Bool().Draw(t, "refused")
			do, at := start(id, refused)
			alone := len(begun) == 0 || len(begun) == 1 && begun[id]
			switch {
			case !refused && (do != begin.Use || at != own):
				t.Fatalf("fleet %s, whose commit names %s: %s %s, want its branch %s", id, named[id], do, at, own)
			case !refused:
				branches[at] = begin.Branch{Location: status.Location{Owner: fleet.Owner{Agent: "ops", Place: "here", Epoch: 1}, Fleet: id, Applied: fleet.Revision{Ref: "main", Digest: string(id)}}}
				begun[id] = true
			case begun[id] && (do != begin.Use || at != own):
				t.Fatalf("fleet %s, refused: %s %s, and its status is on %s", id, do, at, own)
			case !begun[id] && do != begin.Retry && (source == "folders" || alone || len(begun) > 1):
				t.Fatalf("fleet %s, which is new and refused: %s %s", id, do, at)
			}
		}
	})
}

func Example() {
	in := begin.Input{Flags: begin.Flags{Self: "ops"}}
	fmt.Println(begin.Decide(in).Do)
	// Output: read the newest revision
}
