package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// lastEvents is how much of a history describe shows.
const lastEvents = 8

func newDescribe(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use: "describe NAMESPACE/NAME|MACHINE", GroupID: groupLook, Short: "Show details of a cluster or a machine",
		Long: `Show details of a cluster or a machine from the status branch: state and reasons, the
messages of the provider, recent actions with their commits, requests, and pending
actions.`,
		Example: `  fairlead describe prod/eu-1
  fairlead describe eu-1-md-0-3f5fbe45`,
		Args: args(cobra.ExactArgs(1)),
	}
	f := addSource(cmd, built)
	f.addStatus(cmd)
	f.complete(func(s status.Status, argv []string) []cobra.Completion {
		return append(oneCluster(0)(s, argv), machineNames(s, argv)...)
	})
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, branch, err := f.find(cmd, nil)
		if err != nil {
			return err
		}
		if strings.Contains(argv[0], "/") { // or it may be a machine of any cluster
			p.clusters = choice{names: argv, flags: &chooseFlags{}}.read(p.scope)
		}
		b, err := p.settings.OpenBranch(branch)
		if err != nil {
			return err
		}
		s, err := p.statusOn(cmd.Context(), b)
		if err != nil {
			return err
		}
		c, machine, err := described(s, argv[0])
		if err != nil {
			return err
		}
		events, err := historyOf(cmd.Context(), b, c.Report.Cluster, mostSearched)
		if err != nil && fleet.KindOf(err) != fleet.Invalid { // a folder has no history
			return err
		}
		d := description{w: cmd.OutOrStdout(), status: s, cluster: c}
		if machine >= 0 {
			return d.machine(machine, events)
		}
		return d.whole(events)
	}
	return cmd
}

// described returns the cluster called name, or the one with the machine called so, and the
// index of that; -1 is none.
func described(s status.Status, name string) (status.Cluster, int, error) {
	for _, c := range s.Clusters {
		for i, m := range c.Report.Machines {
			if string(m.Machine.Name) == name {
				return c, i, nil
			}
		}
	}
	k, err := find(s, name)
	if err == nil {
		err = s.DamageOf(k)
	}
	c, ok := s.Cluster(k)
	if err == nil && !ok || fleet.KindOf(err) == fleet.NotFound && !strings.Contains(name, "/") {
		err = fleet.Errorf(fleet.NotFound, "describe "+name, "cluster or machine not found. Run 'fairlead tree' to list them")
	}
	return c, -1, err
}

// A description writes what is known of a cluster.
type description struct {
	w       io.Writer
	status  status.Status
	cluster status.Cluster
}

// line writes a name and its value, where there is one.
func (d description) line(name, value string) {
	if value != "" {
		fmt.Fprintf(d.w, "%-12s %s\n", name+":", value)
	}
}

// list writes lines below a title, where there are any.
func (d description) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(d.w, "\n%s\n", title)
	for _, l := range lines {
		fmt.Fprintln(d.w, "  "+strings.ReplaceAll(fleet.PlainLines(l), "\n", "\n  "))
	}
}

func (d description) whole(events []event) error {
	r := d.cluster.Report
	orphan := slices.Contains(d.status.Fleet.Orphans, r.Cluster)
	d.line("Cluster", r.Cluster.String())
	d.line("Phase", string(r.Phase)+sinceReady(d.cluster.Cluster.Status.Conditions))
	d.line("Revision", r.Revision.String())
	d.line("Overlay", r.Overlay)
	d.line("Provider", r.Provider)
	d.line("Version", r.Version)
	d.line("Labels", labels.FormatLabels(r.Labels))
	if !r.Endpoint.IsZero() {
		d.line("Endpoint", statusview.URL(r.Endpoint))
	}
	var why []string
	if orphan {
		why = append(why, "it was removed from Git and is not managed")
	}
	if r.Failure != "" {
		why = append(why, r.Failure)
	}
	for _, p := range r.Problems {
		why = append(why, "stays at this revision: "+p.String())
	}
	d.list("Out of sync because:", why)
	d.list("Conditions with problems:", notGood(d.cluster.Cluster.Status.Conditions))
	if err := d.pools(); err != nil {
		return err
	}
	if err := d.addons(); err != nil {
		return err
	}
	for i, m := range r.Machines {
		lines := notGood(d.cluster.Machines[i].Status.Conditions)
		if m.Machine.Message != "" {
			lines = append([]string{"the provider says: " + m.Machine.Message}, lines...)
		}
		if m.Machine.Damaged != "" {
			lines = append([]string{"held: " + m.Machine.Damaged}, lines...)
		}
		d.list(fmt.Sprintf("Machine %s is %s:", m.Machine.Name, m.Phase), lines)
	}
	d.requests(func(q fleet.Request) bool { return true })
	d.events(events)
	d.next(r, orphan)
	return nil
}

func (d description) pools() error {
	t := output.Table{Header: []string{"POOL", "ROLE", "VERSION", "DESIRED", "MACHINES", "UP-TO-DATE", "READY"}}
	for _, p := range d.cluster.Report.Pools {
		t.Add(string(p.Name), string(p.Role), p.Version, fmt.Sprint(p.Desired), fmt.Sprint(p.Current), fmt.Sprint(p.UpToDate), fmt.Sprint(p.Ready))
	}
	if t.Empty() {
		return nil
	}
	fmt.Fprintln(d.w)
	return t.Text(d.w)
}

// addons lists them, and why those are so that are not as Git says.
func (d description) addons() error {
	t := output.Table{Header: []string{"ADDON", "STATE", "SINCE", "REVISION"}}
	var why []string
	for _, a := range d.cluster.Addons {
		at := ""
		if !a.Since.IsZero() {
			at = a.Since.UTC().Format("2006-01-02 15:04:05Z")
		}
		t.Add(a.Kind+" "+a.Name, string(a.State), at, statusview.AddonText(a.AddonReport))
		if a.Message != "" {
			why = append(why, fmt.Sprintf("%s is %s: %s", a.Name, a.State, a.Message))
		}
	}
	if t.Empty() {
		return nil
	}
	fmt.Fprintln(d.w)
	if err := t.Text(d.w); err != nil {
		return err
	}
	d.list("Addons that are not as they should be:", why)
	return nil
}

func (d description) machine(i int, events []event) error {
	m, o := d.cluster.Report.Machines[i], d.cluster.Machines[i]
	d.line("Machine", string(m.Machine.Name))
	d.line("Cluster", d.cluster.Report.Cluster.String()+", "+string(d.cluster.Report.Phase))
	d.line("Pool", string(m.Machine.Pool)+", "+string(m.Machine.Role))
	upToDate := ", up to date"
	if !m.UpToDate {
		upToDate = ", outdated"
	}
	d.line("Phase", string(m.Phase)+upToDate+sinceReady(o.Status.Conditions))
	d.line("Provider ID", string(m.Machine.ProviderID))
	d.line("State", string(m.Machine.State))
	d.line("Node", m.Node)
	d.line("Version", m.Machine.Version)
	d.line("Kubelet", m.Version)
	d.line("Domain", m.Machine.FailureDomain)
	d.line("Addresses", strings.Join(m.Machine.Addresses, ", "))
	if !m.Machine.Created.IsZero() {
		d.line("Created", m.Machine.Created.Format(time.RFC3339))
	}
	if !m.Joined.IsZero() {
		d.line("Joined", m.Joined.Format(time.RFC3339))
	}
	d.line("Held", m.Machine.Damaged)
	if m.Machine.Message != "" {
		d.list("The provider says:", []string{m.Machine.Message})
	}
	d.list("Conditions with problems:", notGood(o.Status.Conditions))
	d.requests(func(q fleet.Request) bool { return q.Machine == m.Machine.Name })
	d.events(slices.DeleteFunc(events, func(e event) bool { return !strings.Contains(e.What, string(m.Machine.Name)) }))
	var next []string
	for _, w := range d.cluster.Report.Waiting {
		if strings.Contains(w, string(m.Machine.Name)) {
			next = append(next, "waiting for "+w)
		}
	}
	d.list("Pending:", next)
	return nil
}

// sinceReady returns the time since the last transition of the condition that summarizes an object.
func sinceReady(conditions []metav1.Condition) string {
	for _, c := range conditions {
		if (c.Type == clusterv1.ClusterAvailableCondition || c.Type == clusterv1.ReadyCondition) && !c.LastTransitionTime.IsZero() {
			return fmt.Sprintf(", %s %s since %s", c.Type, c.Status, since(c))
		}
	}
	return ""
}

// notGood returns a line for each condition that is not as it should be.
func notGood(conditions []metav1.Condition) []string {
	var lines []string
	for _, c := range conditions {
		if !statusview.Good(c) {
			lines = append(lines, fmt.Sprintf("%s is %s since %s, %s: %s", c.Type, c.Status, since(c), c.Reason, c.Message))
		}
	}
	return lines
}

// requests lists those of the cluster that are of interest.
func (d description) requests(of func(fleet.Request) bool) {
	var lines []string
	for _, q := range d.status.Requests {
		if q.Cluster == d.cluster.Report.Cluster && of(q) {
			state := string(q.Answer.State)
			if state == "" {
				state = "not answered"
			}
			lines = append(lines, fmt.Sprintf("%s, by %s at %s: %s%s", q, q.By, q.At.Format(time.RFC3339), state, colon(q.Answer.Message)))
		}
	}
	d.list("Asked for:", lines)
}

// events lists the newest of events.
func (d description) events(events []event) {
	var lines []string
	for _, e := range events[:min(lastEvents, len(events))] {
		lines = append(lines, fmt.Sprintf("%s %.12s %s", e.At.Format(time.RFC3339), e.Commit, e.What))
	}
	d.list("Recent actions:", lines)
}

// next says what comes next.
func (d description) next(r fleet.Report, orphan bool) {
	var lines []string
	for _, w := range r.Waiting {
		lines = append(lines, "waiting for "+w)
	}
	behind := slices.Contains(d.status.Fleet.Behind, r.Cluster)
	switch {
	case len(lines) > 0:
	case behind:
		lines = append(lines, "the next reconciliation continues with revision "+d.status.Fleet.Applied.Short())
	case statusview.HeldBack(r) != "":
		lines = append(lines, statusview.HeldBack(r))
	case !orphan && r.Failure == "" && len(r.Problems) == 0 && r.Phase == fleet.PhaseProvisioned:
		lines = append(lines, "none (up to date with revision "+r.Revision.Short()+")")
	}
	d.list("Pending:", lines)
}
