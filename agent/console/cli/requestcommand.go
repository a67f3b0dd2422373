package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/status"
)

// A requestCommand is what all commands that write a request share.
type requestCommand struct {
	cmd    *cobra.Command
	f      *sourceFlags
	reason string
	wait   *waitFlags
}

// request returns a request of a kind for the cluster called name, of which the status branch
// tells.
func (w *requestCommand) request(kind fleet.RequestKind, name string) (fleet.Request, error) {
	s, err := w.status()
	if err != nil {
		return fleet.Request{}, err
	}
	k, err := find(s, name)
	return fleet.Request{Kind: kind, Cluster: k}, err
}

// status returns what the status branch says. It fails where no agent reads what is asked.
func (w *requestCommand) status() (status.Status, error) {
	p, branch, err := w.selection()
	if err != nil {
		return status.Status{}, err
	}
	if err := p.checkFollowed(w.cmd.Context(), branch); err != nil {
		return status.Status{}, fmt.Errorf("cannot %s: %w", w.cmd.Name(), err)
	}
	return p.settings.ReadStatus(w.cmd.Context(), branch)
}

// find completes r with the cluster and the provider id of its machine.
func (w *requestCommand) find(r *fleet.Request) error {
	s, err := w.status()
	if err != nil {
		return err
	}
	var found []fleet.Request
	for _, c := range s.Clusters {
		for _, m := range c.Report.Machines {
			if m.Machine.Name == r.Machine && (r.ProviderID == "" || m.Machine.ProviderID == r.ProviderID) {
				one := *r
				one.Cluster, one.ProviderID = c.Report.Cluster, m.Machine.ProviderID
				found = append(found, one)
			}
		}
	}
	switch {
	case len(found) == 0:
		return errors.Join(fmt.Errorf("machine %s%s not found. Run 'fairlead tree' to list machines", r.Machine, with(r.ProviderID)), s.Whole())
	case len(found) > 1:
		var ids []string
		for _, f := range found {
			ids = append(ids, string(f.ProviderID))
		}
		return &usageError{fmt.Errorf("%d machines have the name %s: set --provider-id %s", len(found), r.Machine, strings.Join(ids, " or "))}
	case found[0].ProviderID == "":
		return fmt.Errorf("machine %s has no provider ID yet: it is being created", r.Machine)
	}
	*r = found[0]
	return nil
}

func with(id fleet.ProviderID) string {
	if id == "" {
		return ""
	}
	return " with provider ID " + string(id)
}

// target returns the fleet that the request is for, and the name of its status branch.
func (w *requestCommand) selection() (selection, string, error) {
	p, err := w.f.here(w.cmd.Context(), nil)
	if err != nil {
		return p, "", err
	}
	branch, err := p.branch(w.cmd.Context(), w.f.branch)
	return p, branch, err
}

// requests opens the requests of the status branch for a person. It fails where no agent
// reads them.
func (w *requestCommand) requests() (*status.Requests, error) {
	p, branch, err := w.selection()
	if err != nil {
		return nil, err
	}
	if err := p.checkFollowed(w.cmd.Context(), branch); err != nil {
		return nil, fmt.Errorf("cannot %s: %w", w.cmd.Name(), err)
	}
	if p.settings.Author, err = git.ByHand(w.cmd.Context()); err != nil {
		return nil, err
	}
	b, err := p.settings.OpenBranch(branch)
	if err != nil {
		return nil, err
	}
	q := status.NewRequests(b)
	q.Sign, err = p.settings.Signer()
	return q, err
}

// ask writes r to the status branch, and waits for its end with --wait.
func (w *requestCommand) ask(r fleet.Request) error {
	ctx, out := w.cmd.Context(), w.cmd.OutOrStdout()
	by, err := git.ByHand(ctx)
	if err != nil {
		return err
	}
	r.By, r.At, r.Reason = fmt.Sprintf("%s <%s>", by.Name, by.Email), time.Now().UTC().Truncate(time.Second), w.reason
	q, err := w.requests()
	if err != nil {
		return err
	}
	if err := q.Ask(ctx, r); err != nil {
		return err
	}
	fmt.Fprintf(out, "requested: %s\n", r)
	wait := w.wait.time()
	if wait == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	last := fleet.Answer{}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		list, err := q.List(ctx)
		if i := slices.IndexFunc(list, r.Identical); i >= 0 && list[i].Answer != last {
			last = list[i].Answer
			fmt.Fprintf(out, "%s%s\n", strings.ToLower(string(last.State)), colon(last.Message))
		} else if i < 0 && err == nil {
			return fmt.Errorf("the request was withdrawn")
		}
		switch {
		case last.State == fleet.RequestDone, last.State == fleet.RequestAccepted && r.Kind == fleet.RequestSuspend:
			return nil
		case last.State == fleet.RequestRefused:
			return errors.New("the request was refused: " + last.Message)
		}
		select {
		case <-ctx.Done():
			if w.cmd.Context().Err() != nil {
				return w.cmd.Context().Err()
			}
			if last.State == "" {
				return fmt.Errorf("no agent read the request within %s. Check that an agent runs. The request stays", wait)
			}
			look := "fairlead tree " + r.Cluster.String()
			if r.Stage != "" {
				look = "fairlead status"
			}
			return fmt.Errorf("not completed after %s; it continues. Run '%s' to see its progress", wait, look)
		case <-tick.C:
		}
	}
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
