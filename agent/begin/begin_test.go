package begin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"fairlead.dev/agent/begin"
	"fairlead.dev/fleet"
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
		}
		return o
	}
	switch words[0] {
	case "flags":
		in.Branch, in.Wait, in.Signed = fields["branch"], has("wait"), has("signed")
		if has("take-over") {
			in.TakeOver = fleet.Owner{Agent: fields["take-over"], Epoch: 3}
		}
	case "tip":
		in.Tip = &begin.Tip{Err: failed(), Fleet: fleet.ID(fields["fleet"]), Branch: fields["branch"], Strays: has("strays")}
	case "branch":
		in.Branches[fields["name"]] = begin.Branch{Err: failed(), Owner: owner(), Fleet: fleet.ID(fields["fleet"]), MovedTo: fields["moved"]}
	case "at":
		in.At = fields["branch"]
	case "owner":
		in.Owner = &begin.Ownership{Err: failed(), Owner: owner(), Begun: has("begun"), Next: fleet.Succession{To: fields["next"]}}
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

// world is a fleet with an owner that runs, as its status branches say. Of one fleet.
type world struct {
	at, named string // where the status is, and what the newest revision names
	owner     fleet.Owner
	refused   bool // the newest revision
}

func worlds(t *rapid.T) world {
	name := rapid.SampledFrom([]string{"fairlead/status", "fleet/state"})
	return world{
		at: "fairlead/status", named: name.Draw(t, "named"), refused: rapid.Bool().Draw(t, "refused"),
		owner: fleet.Owner{Agent: rapid.SampledFrom([]string{"ops", "other"}).Draw(t, "owner"), Place: rapid.SampledFrom([]string{"here", "there"}).Draw(t, "place"), Epoch: 3},
	}
}

// start takes steps until clusters are held to a revision, or the start ends or waits, and
// returns the last step and the branch that has the status.
func (w world) start(f begin.Flags) (begin.Do, string) {
	in := begin.Input{Flags: f, Branches: map[string]begin.Branch{}}
	for range 20 {
		switch step := begin.Decide(in); step.Do {
		case begin.ReadTip:
			in.Tip = &begin.Tip{Fleet: "fleet", Branch: w.named}
			if w.refused {
				in.Tip = &begin.Tip{Err: errors.New("refused")}
			}
		case begin.ReadBranch:
			in.Branches[step.Branch] = begin.Branch{}
			if step.Branch == w.at {
				in.Branches[step.Branch] = begin.Branch{Owner: w.owner, Fleet: "fleet"}
			}
		case begin.Move:
			w.at = step.Branch
			in.Branches = map[string]begin.Branch{}
		case begin.Use:
			in.At = step.Branch
		case begin.ReadOwner:
			in.Owner = &begin.Ownership{}
			if in.At == w.at {
				in.Owner.Owner = w.owner
			}
		case begin.Prove:
			in.Owner.Proof = &begin.Proof{}
		case begin.Claim:
			in.Owner.Owner, in.Owner.Begun = fleet.Owner{Agent: f.Self, Place: f.Place, Epoch: 1}, true
		case begin.Own:
			in.Owned = true
		case begin.ReadRecord:
			in.Record = &begin.Record{Applied: fleet.Revision{Ref: "main", Digest: "applied"}}
		default:
			return step.Do, in.At
		}
	}
	return "does not end", in.At
}

// TestStartIsContinuation: whatever name a commit gives the status branch, and whether the
// newest revision is refused or not, the owner that starts again holds its clusters to what
// it held them to, and another agent never acts.
func TestStartIsContinuation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(t)
		f := begin.Flags{Self: "ops", Place: "here", Branch: rapid.SampledFrom([]string{"", "fairlead/status", "fleet/state", "third"}).Draw(t, "flag")}
		do, at := w.start(f)
		self := w.owner.Agent == "ops" && w.owner.Place == "here"
		want := begin.HoldTip
		if w.refused {
			want = begin.HoldApplied
		}
		switch {
		case !self && (do == begin.HoldTip || do == begin.HoldApplied):
			t.Fatalf("a second agent acts, on branch %s", at)
		case do == "does not end":
			t.Fatalf("the start does not end: %+v", w)
		case self && (f.Branch == "" || f.Branch == w.at) && do != want:
			t.Fatalf("the owner that starts again: %q at %s, want %q", do, at, want)
		}
	})
}

func Example() {
	in := begin.Input{Flags: begin.Flags{Self: "ops"}}
	fmt.Println(begin.Decide(in).Do)
	// Output: read the newest revision
}
