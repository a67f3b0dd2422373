package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

func newRelease(built wiring.Built) *cobra.Command {
	var now, skip, approve bool
	cmd := newRequest(built, "release NAMESPACE/NAME|STAGE", "Release a cluster or a rollout stage from waiting, or skip it",
		`--now begins the change of a cluster, or begins or continues a stage, regardless of
earlier stages, windows, freezes and a halt. --skip lets other clusters and stages go on
without it, until its definition changes again. --approve approves a stage that needs
approval. A release is for the changes that wait now.

If other changes were pushed meanwhile, the release is refused. In Git: the annotation
fairlead.dev/release: now or skip on the Cluster.`,
		`  fairlead release prod --approve
  fairlead release prod/eu-1 --now --reason "the fix cannot wait for Friday"
  fairlead release prod/eu-2 --skip --reason "its cloud is down until Monday"`,
		func(w *requestCommand, argv []string) error {
			r := fleet.Request{Kind: fleet.RequestRelease}
			for way, asked := range map[fleet.ReleaseWay]bool{fleet.ReleaseNow: now, fleet.ReleaseSkip: skip, fleet.ReleaseApprove: approve} {
				if asked && r.Release != "" {
					return &usageError{errors.New("--now, --skip and --approve are exclusive: use one of them")}
				} else if asked {
					r.Release = way
				}
			}
			switch {
			case r.Release == "":
				return &usageError{errors.New("missing --now, --skip or --approve")}
			case r.Release != fleet.ReleaseApprove && w.reason == "":
				return &usageError{fmt.Errorf("missing --reason: --%s bypasses the rollout, so the request records why", r.Release)}
			}
			what, err := w.waiting(&r, argv[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(w.cmd.OutOrStdout(), what)
			return w.ask(r)
		})
	cmd.Flags().BoolVar(&now, "now", false, "begin the change now, regardless of stages, windows and freezes")
	cmd.Flags().BoolVar(&skip, "skip", false, "let others go on without this cluster or stage")
	cmd.Flags().BoolVar(&approve, "approve", false, "approve the changes that wait in a stage")
	confirms(cmd, "now", "skip", "approve")
	return cmd
}

// waiting completes r with what the status branch says waits in the cluster or stage called
// name, and says what that is.
func (w *requestCommand) waiting(r *fleet.Request, name string) (string, error) {
	s, err := w.status()
	if err != nil {
		return "", err
	}
	r.Cluster, err = find(s, name)
	isStage := slices.ContainsFunc(s.Fleet.Rollout.Stages, func(st fleet.StageStatus) bool { return st.Name == name })
	switch {
	case isStage, fleet.KindOf(err) == fleet.NotFound && !strings.Contains(name, "/"):
		r.Stage, r.Cluster = name, fleet.Key{}
		return waitingInStage(r, s.Fleet.Rollout)
	case err != nil:
		return "", err
	}
	if r.Release == fleet.ReleaseApprove {
		return "", &usageError{errors.New("--approve requires a stage, not a cluster")}
	}
	return waitingInCluster(r, s)
}

func waitingInStage(r *fleet.Request, s fleet.RolloutStatus) (string, error) {
	i := slices.IndexFunc(s.Stages, func(st fleet.StageStatus) bool { return st.Name == r.Stage })
	if i < 0 {
		var names []string
		for _, st := range s.Stages {
			names = append(names, st.Name)
		}
		if len(names) == 0 {
			return "", fmt.Errorf("cluster or stage %q not found", r.Stage)
		}
		return "", fmt.Errorf("cluster or stage %q not found. Stages: %s", r.Stage, strings.Join(names, ", "))
	}
	st := s.Stages[i]
	if st.Waiting == 0 && (r.Release != fleet.ReleaseSkip || st.Changing == 0) {
		return "", fmt.Errorf("nothing waits in stage %s. Run 'fairlead status' to list what waits", r.Stage)
	}
	r.Of = st.Digest
	var lines []string
	for _, w := range s.Waiting {
		if w.Stage == r.Stage {
			lines = append(lines, fmt.Sprintf("  %s: revision %s", w.Cluster, w.Revision.Short()))
		}
	}
	const most = 10
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("  and %d more", more))
	}
	if st.Approvals > 0 {
		lines = append(lines, approvals(st))
	}
	return fmt.Sprintf("in stage %s %s wait:\n%s", r.Stage, output.Count(st.Waiting, "cluster"), strings.Join(lines, "\n")), nil
}

// approvals says how many people have to approve in a stage, and who did.
func approvals(st fleet.StageStatus) string {
	text := fmt.Sprintf("  %d of %d approvals", len(st.Approved), st.Approvals)
	if len(st.Approved) > 0 {
		text += ": " + strings.Join(st.Approved, ", ")
	}
	return text
}

func waitingInCluster(r *fleet.Request, s status.Status) (string, error) {
	if w, waits := s.Fleet.Rollout.Wait(r.Cluster); waits {
		r.Of = w.Digest
		return fmt.Sprintf("in %s revision %s waits: %s", r.Cluster, w.Revision.Short(), w), nil
	}
	departed := func(d fleet.Departure) bool { return d.Cluster == r.Cluster }
	if r.Release == fleet.ReleaseSkip && slices.ContainsFunc(s.Fleet.Rollout.Departed, departed) {
		return fmt.Sprintf("%s left the rollout before its change was done; the others go on without it", r.Cluster), nil
	}
	i := slices.IndexFunc(s.Fleet.Rollout.Standings, func(st fleet.Standing) bool { return st.Cluster == r.Cluster })
	if i < 0 || r.Release == fleet.ReleaseNow {
		return "", fmt.Errorf("nothing waits in cluster %s. Run 'fairlead status' to list what waits", r.Cluster)
	}
	r.Of = s.Fleet.Rollout.Standings[i].Digest
	return fmt.Sprintf("nothing waits in %s; the others go on without it", r.Cluster), nil
}
