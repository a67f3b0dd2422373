package agent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/agent/loop/begin"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A branch is the status branch, as it was opened.
type branch struct {
	StatusBranch

	name string

	// What was seen when the branch was chosen: where the signpost of the fleet leads, which posts
	// reads again. They are for a branch without an owner; nil: they are not known.
	post  string
	posts func(ctx context.Context) (string, error)
}

// locate opens the status branch: see [begin.Decide]. It returns nil where ctx ended.
func (a *Agent) locate(ctx context.Context) (*branch, error) {
	opened := make(map[string]*branch)
	in := begin.Input{Flags: a.flags(ctx), Branches: make(map[string]begin.Branch)}
	began := time.Now()
	var posted time.Time // when a signpost was first tried; zero: none was
	for failures := backoff.New(time.Second, a.o.Interval); ; {
		switch step := begin.Decide(in); step.Do {
		case begin.ReadTip:
			in.Tip = a.tip(ctx)
		case begin.ReadBranch:
			b, err := a.open(step.Branch, opened)
			if err != nil && (in.Branch != "" || in.Tip.Err == nil) { // people named it
				return nil, err
			}
			in.Branches[step.Branch] = a.look(ctx, b, err, in.Tip)
		case begin.Render:
			b := in.Branches[step.Branch]
			f, err := a.revisions().Next(ctx, fleet.Revision{}, b.Applied)
			b.Rendered = &begin.Rendered{Fleet: f.ID, Err: err}
			in.Branches[step.Branch] = b
		case begin.Use:
			if step.Why != nil {
				a.p.Log.Warn("the status of the fleet stays on its branch", "branch", step.Branch, "reason", step.Why)
			}
			return a.use(step.Branch, in, opened)
		case begin.Move:
			from, err := a.open(step.From, opened)
			if err == nil {
				err = from.MoveTo(ctx, step.Branch)
			}
			if errors.Is(err, status.ErrUnmarked) {
				a.p.Log.Warn("the former status branch accepts no push: delete it, or let the agent push to it once, before another branch is named", "branch", step.From, "error", err)
				err = nil
			}
			if was := in.Branches[step.From]; err != nil {
				nobody := was.Owner == (fleet.Owner{}) && fleet.KindOf(err) == fleet.Unauthorized // nor can anybody claim the fleet there
				stays := errors.Is(err, status.ErrStays) || errors.Is(err, status.ErrUndecided) && in.Waited >= begin.Patience
				if was.Stays = nobody || stays && was.MovedTo == ""; nobody {
					a.p.Log.Warn("the signpost leads to a branch without an owner that accepts no push", "branch", step.From, "error", err)
				} else if was.Stays {
					a.p.Log.Warn("the status cannot be moved to the branch that Git names: fix the reason, and restart the agent to move it", "branch", step.Branch, "error", err)
				} else {
					was.Err = err
				}
				in.Branches[step.From] = was
				break
			}
			clear(in.Branches)
			a.p.Log.Info("status of the fleet moved", "from", step.From, "to", step.Branch)
		case begin.Post:
			err := a.post(ctx, step, in, opened)
			if posted.IsZero() {
				posted = time.Now()
			}
			switch {
			case fleet.KindOf(err) == fleet.Conflict: // another process was faster
				clear(in.Branches)
			case fleet.KindOf(err) == fleet.Unauthorized, err != nil && time.Since(posted) >= begin.Patience:
				a.p.Log.Warn("the default status branch accepts no signpost: let the agent push to it before another branch is named", "branch", fleet.DefaultStatusBranch, "error", err)
				in.Posted = step.Branch
			default:
				if in.Posted = step.Branch; err != nil {
					in.Branches[fleet.DefaultStatusBranch] = begin.Branch{Err: err}
				}
			}
		case begin.Refuse:
			return nil, step.Why
		default:
			wait := failures.Step()
			a.ready.Set(readyRevision, "no revision can be used: "+step.Why.Error())
			a.p.Log.Error("cannot read the fleet, retrying", "error", step.Why, "after", wait)
			if !backoff.Sleep(ctx, wait) {
				return nil, nil //nolint:nilnil // see above
			}
			in.Flags = a.flags(ctx) // the place may be found by now
			in.Tip, in.Branches, in.Waited, in.Posted = nil, make(map[string]begin.Branch), time.Since(began), ""
		}
		if ctx.Err() != nil {
			return nil, nil //nolint:nilnil // see above
		}
	}
}

// flags are those that a start is decided by. Where the place cannot be found yet, the agent
// moves no status.
func (a *Agent) flags(ctx context.Context) begin.Flags {
	place := ""
	if a.p.Place != nil {
		place, _ = a.p.Place(ctx)
	}
	return begin.Flags{Place: place, Self: a.o.Name, Branch: a.named(a.o.StatusBranch), Wait: a.o.WaitForOwnership, TakeOver: a.o.TakeOver, Signed: a.revisions().Signed()}
}

// named returns the name of a status branch, which is empty if names do not matter: the status would be moved from one
// name of a branch to another.
func (a *Agent) named(branch string) string {
	if a.p.OneStatusBranch {
		return ""
	}
	return branch
}

// tip renders the newest revision.
func (a *Agent) tip(ctx context.Context) *begin.Tip {
	f, err := a.newestFleet(ctx)
	if err != nil {
		return &begin.Tip{Err: err}
	}
	return &begin.Tip{Fleet: f.ID, Branch: a.named(f.Config.StatusBranch), Revision: f.Revision}
}

// post writes the signpost that step is about. Where a branch has none it does nothing.
func (a *Agent) post(ctx context.Context, step begin.Step, in begin.Input, opened map[string]*branch) error {
	b, err := a.open(step.Branch, opened)
	if err != nil || b.Post == nil {
		return err
	}
	if err := b.Post(ctx, in.Tip.Fleet, step.From, in.Branches[fleet.DefaultStatusBranch].Owner); err != nil {
		return err
	}
	b.post = step.Branch
	return nil
}

// use returns the branch of that name, which is the status branch.
func (a *Agent) use(name string, in begin.Input, opened map[string]*branch) (*branch, error) {
	b, err := a.open(name, opened)
	if err != nil || in.Tip == nil || in.Tip.Err != nil {
		return b, err
	}
	at, err := a.open(fleet.DefaultStatusBranch, opened)
	if err != nil || at.Locate == nil {
		return b, nil //nolint:nilerr // a branch that has an owner does without the default one
	}
	b.post = cmp.Or(b.post, in.Branches[at.name].Signposts[in.Tip.Fleet])
	b.posts = func(ctx context.Context) (string, error) {
		l, err := at.Locate(ctx)
		return l.Signposts[in.Tip.Fleet], err
	}
	return b, nil
}

// open opens the status branch of that name, once.
func (a *Agent) open(name string, opened map[string]*branch) (*branch, error) {
	if b, ok := opened[name]; ok {
		return b, nil
	}
	b, err := a.p.StatusBranch(name)
	if err != nil {
		return nil, err
	}
	opened[name] = &branch{StatusBranch: b, name: name}
	return opened[name], nil
}

// look reads where the status is. A branch that cannot say it is the one.
func (a *Agent) look(ctx context.Context, b *branch, err error, tip *begin.Tip) begin.Branch {
	if err != nil {
		return begin.Branch{Err: err}
	}
	if b.Locate == nil {
		return begin.Branch{Location: status.Location{Owner: fleet.Owner{Agent: a.o.Name}}}
	}
	l, err := b.Locate(ctx)
	if errors.Is(err, status.ErrMovedUnknown) {
		return begin.Branch{Err: err, Location: l}
	}
	if fleet.KindOf(err) == fleet.Invalid {
		l.Owner, err = fleet.Owner{Agent: a.o.Name}, nil // who owns the fleet is decided next
	}
	if tip != nil && tip.Err == nil && !l.Applied.IsZero() {
		a.revisions().Remember(l.Applied, l.AppliedMade)
		tip.Strays = a.revisions().Continues(ctx, l.Applied, tip.Revision) != nil
	}
	return begin.Branch{Err: err, Location: l, Foreign: !a.revisions().Follows(l.Applied)}
}
