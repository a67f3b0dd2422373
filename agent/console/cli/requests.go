package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// requestView is one request as JSON and YAML.
type requestView struct {
	Wish       string     `json:"wish"`
	Cluster    string     `json:"cluster,omitempty"` // empty: of a stage
	Machine    string     `json:"machine,omitempty"`
	ProviderID string     `json:"providerID,omitempty"`
	What       string     `json:"what,omitempty"`
	Stage      string     `json:"stage,omitempty"`
	Release    string     `json:"release,omitempty"`
	Until      *time.Time `json:"until,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	By         string     `json:"by"`
	At         time.Time  `json:"at"`
	State      string     `json:"state"` // Asked, Accepted, Refused or Done
	Message    string     `json:"message,omitempty"`
	Signed     string     `json:"signed"` // Yes, NotChecked, No, or why the signature counts for nothing
}

func newRequests(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use: "requests [NAMESPACE/NAME...]", GroupID: groupAsk, Short: "List requests and their results",
		Long: `List requests of fairlead suspend, reconcile, replace, remediate, rotate, release and
abandon, and their results. Results are kept for a week, and permanently in the history
of the status branch. --problems lists requests that are refused or not yet read.`,
		Example: `  fairlead requests
  fairlead requests prod/eu-1 --watch`,
		Args: args(cobra.ArbitraryArgs),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown, output.FormatWide, output.FormatName, output.FormatJSONPath)
	w := &requestCommand{cmd: cmd, f: addSource(cmd, built)}
	w.f.addStatus(cmd)
	w.f.complete(clusterNames)
	choose := addChoose(cmd)
	watch := addWatch(cmd)
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		chosen, err := choose.of(argv)
		if err != nil {
			return err
		}
		p, branch, err := w.selection()
		if err != nil {
			return err
		}
		b, err := p.settings.OpenBranch(branch)
		if err != nil {
			return err
		}
		q := status.NewRequests(b)
		if q.Verify, err = p.settings.Verifier(); err != nil {
			return err
		}
		form := output.Format(*form)
		if *watch {
			return p.keepShowing(cmd, branch, form, func(out io.Writer, s status.Status) error {
				list, err := q.List(cmd.Context())
				return errors.Join(showRequests(out, form, chosen.requests(s, list), q.Verify != nil), err)
			})
		}
		list, err := q.List(cmd.Context())
		if err != nil && len(list) == 0 {
			return err
		}
		if len(list) == 0 && form == output.FormatTable {
			if deaf := p.checkFollowed(cmd.Context(), branch); deaf != nil {
				return fmt.Errorf("no requests found: %w", deaf)
			}
		}
		var s status.Status
		if chosen.flags.labels != "" {
			if s, err = p.statusOn(cmd.Context(), b); err != nil {
				return err
			}
		}
		return errors.Join(showRequests(cmd.OutOrStdout(), form, chosen.requests(s, list), q.Verify != nil), err)
	}
	return cmd
}

// requests returns those of list that are about chosen clusters. s tells their labels.
func (c choice) requests(s status.Status, list []fleet.Request) []fleet.Request {
	return slices.DeleteFunc(slices.Clone(list), func(r fleet.Request) bool {
		one, _ := s.Cluster(r.Cluster)
		answered := r.Answer.State == fleet.RequestAccepted || r.Answer.State == fleet.RequestDone
		return !c.has(r.Cluster) || !c.labels.Matches(labels.Set(one.Report.Labels)) || c.flags.problems && answered
	})
}

// showRequests shows list. checked: keys were named.
func showRequests(w io.Writer, form output.Format, list []fleet.Request, checked bool) error {
	t := output.Table{Header: []string{"REQUEST", "STATE", "BY", "AT", "SIGNED", "MESSAGE"}, Fit: true}
	views := []requestView{}
	for _, r := range list {
		v := requestView{
			Wish: string(r.Kind), Cluster: r.Cluster.String(), Machine: string(r.Machine), ProviderID: string(r.ProviderID), What: string(r.What),
			Reason: r.Reason, By: r.By, At: r.At, State: string(r.Answer.State), Message: r.Answer.Message,
		}
		if v.Stage, v.Release = r.Stage, string(r.Release); r.Stage != "" {
			v.Cluster = ""
		}
		if v.State == "" {
			v.State = "Asked"
		}
		v.Signed = signedRequest(r, checked)
		if !r.Until.IsZero() {
			v.Until = &r.Until
		}
		views = append(views, v)
		t.Add(r.String(), v.State, v.By, v.At.Format(time.RFC3339), v.Signed, v.Message)
	}
	if len(views) == 0 && (form == output.FormatTable || form == output.FormatWide) {
		_, err := fmt.Fprintln(w, "No requests found.")
		return err
	}
	return t.Write(w, form, views)
}

// signedRequest says whether a trusted key signed r. checked: keys were named.
func signedRequest(r fleet.Request, checked bool) string {
	switch {
	case r.Distrusted != "":
		return r.Distrusted
	case checked:
		return statusview.SignedYes
	case r.Signature != "":
		return statusview.SignedNotChecked
	}
	return "No"
}
