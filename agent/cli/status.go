package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"fairlead.dev/agent/assembly"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

func newStatus() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:     "status [PATH|URL]",
		GroupID: groupLook,
		Short:   "Say how the clusters of a fleet are",
		Long: `Say how the clusters of a fleet are, from the status branch: no cluster and no
cloud is asked.

With --wait it waits until the agent has applied the newest revision of the source
and a look has found every cluster as that revision says: provisioned, or deleted
where that is wanted, with nothing left to do. Afterwards it shows the status. The
exit code is 4 as soon as the revision is refused, as a whole or for some cluster,
which waiting does not mend, and 5 if it takes longer.`,
		Example: `  fairlead status --source https://git.example.com/fleet.git
  git push && fairlead status --source https://git.example.com/fleet.git --wait 10m
  fairlead status ./fleet -o json | jq '.clusters[] | select(.phase != "Provisioned")'`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	output := outputFlag(cmd, formatTable, formatJSON, formatYAML, formatMarkdown)
	f := addSource(cmd)
	f.addStatus(cmd)
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait so long for every cluster to be as the newest revision says")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, err := locate(cmd.Context(), f.from(argv, quiet(cmd.ErrOrStderr())))
		if err != nil {
			return err
		}
		branch, err := p.branch(cmd.Context(), f.branch)
		if err != nil {
			return err
		}
		s, outcome, err := p.await(cmd.Context(), branch, wait)
		if err != nil {
			return err
		}
		if err := showStatus(cmd.OutOrStdout(), format(*output), s); err != nil {
			return err
		}
		if s.Owner.Agent == "" && format(*output) == formatTable && p.origin(cmd.Context()) != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "this folder is a clone: name the repository with --source %s\n", p.origin(cmd.Context()))
		}
		return errors.Join(outcome.err(wait), s.Whole())
	}
	return cmd
}

// branch returns the name of the status branch: given, or what fleet.yaml says; the
// default where that cannot be read.
func (p part) branch(ctx context.Context, given string) (string, error) {
	if given != "" || assembly.IsFolder(p.settings.Source) && p.settings.StatusRepository == "" {
		return given, nil // a folder has but one
	}
	_, tree, err := p.open(ctx)
	if err != nil {
		return "", err
	}
	renderer, err := p.settings.NewRenderer(assembly.RenderOptions{})
	if err != nil {
		return "", err
	}
	config, err := renderer.Config(tree)
	if _, ok := errors.AsType[*render.ConfigError](err); ok {
		// A revision that is refused is what people look at the status for.
		return render.DefaultStatusBranch, nil
	}
	return config.StatusBranch, err
}

// statusView is what status shows as JSON and YAML.
type statusView struct {
	Fleet    string        `json:"fleet"`
	Revision string        `json:"revision"`
	Applied  string        `json:"applied,omitempty"` // another one where the newest is refused
	Behind   []string      `json:"behind,omitempty"`  // clusters that are not yet as Applied says
	Owner    string        `json:"owner"`
	Epoch    int64         `json:"epoch"`
	Signed   string        `json:"signed,omitempty"` // of the owner: NotChecked, Yes, or why not; empty where nobody asks for signatures
	Clusters []clusterView `json:"clusters"`
	Problems []problem     `json:"problems,omitempty"`
	Orphans  []string      `json:"orphans,omitempty"`
	Home     *homeView     `json:"home,omitempty"`
	Moving   *movingView   `json:"moving,omitempty"`
}

// homeView is where the agent is to live, as fleet.yaml says.
type homeView struct {
	Cluster string `json:"cluster,omitempty"`
	Step    string `json:"step,omitempty"`    // of the move there, that is not done
	Message string `json:"message,omitempty"` // what it waits for
}

// movingView is the agent that the fleet is on its way to.
type movingView struct {
	To   string `json:"to"`
	Step string `json:"step"`
}

// clusterView is one cluster in it.
type clusterView struct {
	Name     string    `json:"name"`
	Phase    string    `json:"phase"`
	Version  string    `json:"version"`
	Revision string    `json:"revision"`
	Ready    int       `json:"ready"`
	Desired  int       `json:"desired"`
	Endpoint string    `json:"endpoint,omitempty"`
	Waiting  []string  `json:"waiting,omitempty"`
	Problems []problem `json:"problems,omitempty"`
	Failure  string    `json:"failure,omitempty"`
	// Seconds is how long each phase of making it took, and Provisioned all of them.
	Seconds map[string]int `json:"seconds,omitempty"`
	orphan  bool
}

func viewOf(s status.Status) statusView {
	v := statusView{
		Fleet: string(s.Fleet.Fleet), Revision: s.Fleet.Revision.String(),
		Owner: s.Owner.Agent, Epoch: s.Owner.Epoch, Clusters: []clusterView{}, Problems: problemsOf(s.Fleet.Problems),
	}
	v.Signed = signedBy(s)
	if !s.Fleet.Applied.IsZero() {
		v.Applied = s.Fleet.Applied.String()
	}
	for _, k := range s.Fleet.Behind {
		v.Behind = append(v.Behind, k.String())
	}
	for _, k := range s.Fleet.Orphans {
		v.Orphans = append(v.Orphans, k.String())
	}
	if h := s.Fleet.Home; h != (sources.HomeStatus{}) {
		v.Home = &homeView{Step: h.Step, Message: h.Message}
		if h.Cluster != (fleet.Key{}) {
			v.Home.Cluster = h.Cluster.String()
		}
	}
	if s.Next.To != "" {
		v.Moving = &movingView{To: s.Next.To, Step: string(s.Next.Step)}
	}
	for _, c := range s.Clusters {
		r := c.Report
		cv := clusterView{
			Name: r.Cluster.String(), Phase: string(r.Phase), Version: r.Version, Revision: r.Revision.String(),
			Waiting: r.Waiting, Problems: problemsOf(r.Problems), Failure: r.Failure,
			orphan: slices.Contains(s.Fleet.Orphans, r.Cluster),
		}
		for _, l := range r.Milestones.Legs() {
			if cv.Seconds == nil {
				cv.Seconds = make(map[string]int)
			}
			cv.Seconds[string(l.Phase)] = int(l.Took.Seconds())
		}
		for _, p := range r.Pools {
			cv.Ready += p.Ready
			cv.Desired += p.Desired
		}
		if !r.Endpoint.IsZero() {
			cv.Endpoint = fmt.Sprintf("https://%s:%d", r.Endpoint.Host, r.Endpoint.Port)
		}
		v.Clusters = append(v.Clusters, cv)
	}
	return v
}

func showStatus(w io.Writer, form format, s status.Status) error {
	v := viewOf(s)
	t := table{header: []string{"CLUSTER", "PHASE", "MACHINES", "VERSION", "REVISION", "MESSAGE"}, style: phaseStyle}
	for i, c := range v.Clusters {
		t.add(c.Name, c.Phase, fmt.Sprintf("%d/%d", c.Ready, c.Desired), c.Version, s.Clusters[i].Report.Revision.Short(), c.message())
	}
	if form != formatTable {
		return t.write(w, form, v)
	}
	if v.Owner == "" {
		fmt.Fprintln(w, "there is no status here: no agent has worked on this fleet yet, or its status is on another branch (--status-branch)")
	} else if len(v.Clusters) == 0 {
		fmt.Fprintln(w, "the status branch tells of no cluster")
	} else if err := t.plain(w); err != nil {
		return err
	}
	if v.Owner != "" {
		fmt.Fprintf(w, "\nfleet %s at %s, owned by %s (epoch %d)\n", v.Fleet, v.Revision, v.Owner, v.Epoch)
	}
	switch v.Signed {
	case "", signedYes:
	case signedNotChecked:
		fmt.Fprintln(w, "the owner is signed, which was not checked: name the keys with --request-keys")
	default:
		fmt.Fprintln(w, "not to be believed: "+v.Signed)
	}
	if v.Applied != "" && v.Applied != v.Revision {
		fmt.Fprintf(w, "refused: everything stays at %s\n", v.Applied)
	}
	if v.Home != nil {
		fmt.Fprintln(w, "home: "+v.Home.String())
	}
	if v.Moving != nil {
		fmt.Fprintf(w, "moving: to %s, step %s\n", v.Moving.To, v.Moving.Step)
	}
	for _, p := range v.Problems {
		fmt.Fprintln(w, "problem: "+p.String())
	}
	for _, o := range v.Orphans {
		fmt.Fprintln(w, "orphan: "+o+" vanished from Git and stays as it is")
	}
	return nil
}

// What is said of signatures.
const (
	signedYes        = "Yes"
	signedNotChecked = "NotChecked"
)

// signedBy says whether a key that counts signed the owner, as far as is known here; where
// nobody asks for it, nothing.
func signedBy(s status.Status) string {
	switch {
	case s.Doubt != "":
		return s.Doubt
	case s.Checked && s.Signed:
		return signedYes
	case s.Signed:
		return signedNotChecked
	}
	return ""
}

// String says it on a line.
func (h *homeView) String() string {
	var parts []string
	for _, s := range []string{h.Cluster, h.Step, h.Message} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// message is the most important thing to say of a cluster.
func (c clusterView) message() string {
	var text string
	switch {
	case c.orphan: // what was said of it before is history
		text = "vanished from Git"
	case c.Failure != "":
		text = c.Failure
	case len(c.Problems) > 0:
		text = "stays at this revision: " + c.Problems[0].String()
	case len(c.Waiting) > 0:
		text = "waits for " + c.Waiting[0]
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// phaseStyle colours a row by its phase.
func phaseStyle(row []string) lipgloss.Style {
	colours := map[string]string{"Provisioned": "2", "Deleting": "1", "Deleted": "1"}
	st := lipgloss.NewStyle()
	if c, ok := colours[row[1]]; ok {
		return st.Foreground(lipgloss.Color(c))
	}
	return st.Foreground(lipgloss.Color("4"))
}
