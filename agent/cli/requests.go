package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/output"
	"fairlead.dev/agent/statusview"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// requestView is one request as JSON and YAML.
type requestView struct {
	Wish       string     `json:"wish"`
	Cluster    string     `json:"cluster"`
	Machine    string     `json:"machine,omitempty"`
	ProviderID string     `json:"providerID,omitempty"`
	What       string     `json:"what,omitempty"`
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
		Use: "requests", GroupID: groupAsk, Short: "List what people asked for, and the answers",
		Long: `List what people asked for with fairlead suspend, reconcile, replace, remediate,
rotate and abandon, and what the agent answered. Answers are kept for a week; all of it
is in the history of the status branch.`,
		Example: `  fairlead requests --source https://git.example.com/fleet.git`,
		Args:    args(cobra.NoArgs),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	w := &requestCommand{cmd: cmd, f: addSource(cmd, built)}
	w.f.addStatus(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
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
		list, err := q.List(cmd.Context())
		if err != nil && len(list) == 0 {
			return err
		}
		t := output.Table{Header: []string{"REQUEST", "STATE", "BY", "AT", "SIGNED", "MESSAGE"}}
		views := []requestView{}
		for _, r := range list {
			v := requestView{
				Wish: string(r.Kind), Cluster: r.Cluster.String(), Machine: string(r.Machine), ProviderID: string(r.ProviderID), What: string(r.What),
				Reason: r.Reason, By: r.By, At: r.At, State: string(r.Answer.State), Message: r.Answer.Message,
			}
			if v.State == "" {
				v.State = "Asked"
			}
			v.Signed = signedRequest(r, q.Verify != nil)
			if !r.Until.IsZero() {
				v.Until = &r.Until
			}
			views = append(views, v)
			t.Add(r.String(), v.State, v.By, v.At.Format(time.RFC3339), v.Signed, v.Message)
		}
		if form := output.Format(*form); form != output.FormatTable || len(views) > 0 {
			return errors.Join(t.Write(cmd.OutOrStdout(), form, views), err)
		}
		if deaf := p.checkFollowed(cmd.Context(), branch); deaf != nil && err == nil {
			return fmt.Errorf("there are no requests here: %w", deaf)
		}
		fmt.Fprintln(cmd.OutOrStdout(), "nobody asked for anything")
		return err
	}
	return cmd
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
