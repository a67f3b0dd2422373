package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/agent"
	"fairlead.dev/agent/assembly"
	"fairlead.dev/agent/pivot"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/sources/status"
)

func newPlan() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "plan [PATH|URL]",
		GroupID: groupWrite,
		Short:   "Say what a revision would change, and why",
		Long: `Say what a revision would change, and why: every machine that would be created,
replaced or deleted.

It looks at the real infrastructure and changes nothing. The decisions are made
by the code that the agent acts with. --ref compares any branch, tag or commit of
a repository with what is; a PATH compares files before they are committed. What
vanished from a clone is seen where --status-repository names its repository.

--base names what to compare with, such as the branch that is to be changed: then
it says which pools are made of something else, and in which fields, in every
cluster that a class or a base is changed for.

For what only the API servers of the clusters know, it needs the agent's secrets:
the same --source, or the same --secrets. Without them it says so and plans by
the infrastructure alone.

The exit code is 0 if there is nothing to do, 2 if there are changes, and 1 if
something is wrong.`,
		Example: `  fairlead plan --source https://git.example.com/fleet.git --ref feature
  fairlead plan ./fleet --status-repository https://git.example.com/fleet.git -o markdown
  fairlead plan --source https://git.example.com/fleet.git --ref feature --base main
  fairlead plan ./fleet --inmemory-url http://127.0.0.1:8080/inmemory`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	output := outputFlag(cmd, formatTable, formatJSON, formatYAML, formatMarkdown)
	f := addSource(cmd)
	f.addRender(cmd)
	f.addFolders(cmd)
	f.addStatus(cmd)
	f.addSecrets(cmd)
	f.addProviders(cmd)
	v := addValues(cmd)
	cmd.Flags().StringVar(&f.base, "base", "", "branch, tag or commit of the repository to compare with; of a folder another folder, or the URL of a repository")
	cmd.Flags().Lookup("path").Usage = partUsage
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, err := locate(cmd.Context(), f.from(argv, quiet(cmd.ErrOrStderr())))
		if err != nil {
			return err
		}
		out, err := makePlan(cmd.Context(), p, f, v)
		if err != nil {
			return err
		}
		if err := out.show(cmd.OutOrStdout(), format(*output)); err != nil {
			return err
		}
		switch {
		case len(out.Problems) > 0 || len(out.Errors) > 0:
			return &exitError{exitFailure}
		case len(out.Changes) > 0:
			return &exitError{exitChanges}
		}
		return nil
	}
	return cmd
}

// planned is what plan found.
type planned struct {
	Revision string    `json:"revision"`
	Clusters int       `json:"clusters"`
	Changes  []change  `json:"changes"`
	Rolls    []roll    `json:"rolls,omitempty"` // what differs from the base
	Problems []problem `json:"problems,omitempty"`
	Orphans  []string  `json:"orphans,omitempty"`
	Notes    []string  `json:"notes,omitempty"`  // what was not looked at
	Errors   []string  `json:"errors,omitempty"` // what could not be looked at

	at      string      // the revision, short
	lacking []fleet.Key // clusters with machines whose secrets are not here
}

// change is one plan.Change.
type change struct {
	Change  string `json:"change"`
	Cluster string `json:"cluster"`
	Pool    string `json:"pool,omitempty"`
	Machine string `json:"machine,omitempty"`
	By      string `json:"by,omitempty"`
	Addon   string `json:"addon,omitempty"`
	Reason  string `json:"reason"`
}

func changeOf(c plan.Change) change {
	return change{
		Change: string(c.Kind), Cluster: c.Cluster.String(), Pool: string(c.Pool),
		Machine: string(c.Machine), By: string(c.By), Addon: c.Addon, Reason: c.Reason,
	}
}

func makePlan(ctx context.Context, p part, f *sourceFlags, v *valueFlags) (*planned, error) {
	all, err := p.loadAll(ctx, v.options())
	if err != nil {
		return nil, err
	}
	s, err := p.settings.ReadStatus(ctx, cmp.Or(f.branch, all.Config.StatusBranch))
	if err != nil {
		return nil, fmt.Errorf("cannot read the status branch: %w", err)
	}
	loaded := p.keep(agent.KeepParts(s, all))
	s = p.keepStatus(s)
	outlook := agent.Foresee(s, loaded)
	for i, c := range outlook.Clusters {
		if c.Key == f.gone {
			outlook.Clusters[i] = c.Recreating(f.recreate)
		}
	}
	if p.path != "." && len(outlook.Clusters)+len(outlook.Problems)+len(outlook.Pruned)+len(outlook.Orphans) == 0 {
		return nil, p.empty()
	}
	out := &planned{
		at:       loaded.Revision.Ref + "@" + loaded.Revision.Short(),
		Revision: loaded.Revision.String(), Clusters: len(outlook.Clusters), Changes: []change{}, Problems: problemsOf(outlook.Problems),
	}
	if f.base != "" {
		if err := out.roll(ctx, p, f.base, loaded, v.options()); err != nil {
			return nil, err
		}
	}
	w, err := assembly.OpenWorld(ctx, p.settings, nil)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := out.look(ctx, w, outlook); err != nil {
		return nil, err
	}
	for _, r := range outlook.Pruned {
		out.prune(r)
	}
	out.move(p, s.Owner, loaded.Config.Home)
	for _, k := range outlook.Orphans {
		out.Orphans = append(out.Orphans, k.String())
	}
	if n := heeded(s, outlook.Clusters); s.Signed && !s.Checked && n > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d requests and numbers of machines on the status branch are in this plan whoever signed them, and the agent goes by those that its keys signed: name them with --request-keys", n))
	}
	if s.Owner.Agent == "" && p.isClone() {
		out.Notes = append(out.Notes, "no status is known here, so clusters that vanished from Git are not seen: name the repository with --status-repository")
	}
	if p.settings.Providers["inmemory"]["url"] == "" && slices.ContainsFunc(outlook.Clusters, func(c *fleet.Cluster) bool { return c.Provider == "inmemory" }) {
		out.Notes = append(out.Notes, "the in-memory cloud of this process is new and empty: name that of a running agent with --inmemory-url")
	}
	return out, nil
}

// heeded counts what people ask for and decide on the status branch that is in a plan of
// clusters.
func heeded(s status.Status, clusters []*fleet.Cluster) (n int) {
	planned := func(k fleet.Key) bool {
		return slices.ContainsFunc(clusters, func(c *fleet.Cluster) bool { return c.Key == k })
	}
	for _, r := range s.Requests {
		if r.Stands() && planned(r.Cluster) {
			n++
		}
	}
	for _, d := range s.Scales {
		if planned(d.Cluster) {
			n++
		}
	}
	return n
}

// planText plans what s names, as people see it.
func planText(ctx context.Context, s assembly.Settings) (string, error) {
	out, err := makePlan(ctx, part{settings: s, path: "."}, &sourceFlags{}, &valueFlags{})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = out.show(&b, formatTable)
	return b.String(), err
}

// status returns what the status branch says of the part.
func (p part) status(ctx context.Context, branch string) (status.Status, error) {
	s, err := p.settings.ReadStatus(ctx, branch)
	return p.keepStatus(s), err
}

// keepStatus returns what s says of the part.
func (p part) keepStatus(s status.Status) status.Status {
	s.Clusters = slices.DeleteFunc(slices.Clone(s.Clusters), func(c status.Cluster) bool { return !p.has(c.Report.Overlay) })
	return s
}

// look compares each cluster with what is, several at once.
func (out *planned) look(ctx context.Context, w *assembly.World, outlook agent.Outlook) error {
	clusters := outlook.Clusters
	looker := w.Looker() //nolint:contextcheck // each look has its own
	type result struct {
		changes []plan.Change
		stays   []string
		lacking bool
		err     error
	}
	results := make([]result, len(clusters))
	var g errgroup.Group
	g.SetLimit(16)
	for i, c := range clusters {
		g.Go(func() error {
			seen, err := looker.Look(ctx, c)
			if err != nil {
				results[i].err = err
				return nil
			}
			if len(seen.Infrastructure.Machines) > 0 && len(seen.Secrets.Missing) > 0 {
				results[i].lacking = true
				seen.Secrets.Missing = nil
			}
			in := plan.Input{Desired: c, Memory: outlook.Memory[c.Key], Observed: seen, Now: seen.At}
			results[i].changes, results[i].stays = plan.Preview(in), plan.Obstacles(in)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, res := range results {
		for _, c := range res.changes {
			out.Changes = append(out.Changes, changeOf(c))
		}
		for _, why := range res.stays {
			out.Notes = append(out.Notes, clusters[i].Key.String()+": "+why)
		}
		if res.lacking {
			out.lacking = append(out.lacking, clusters[i].Key)
			out.Notes = append(out.Notes, fmt.Sprintf("the secrets of %s are not here, so its API server was not asked: name the agent's with --secrets", clusters[i].Key))
		}
		if res.err != nil {
			out.Errors = append(out.Errors, res.err.Error())
		}
	}
	return ctx.Err()
}

// moveFleet is what a change of the agent's home is called.
const moveFleet = "move fleet"

// move adds the way of the fleet to the home that fleet.yaml names.
func (out *planned) move(p part, now fleet.Owner, home fleet.Home) {
	to := pivot.AgentOf(home.Cluster)
	switch {
	case !home.Declared(), now.Agent == to, p.path != ".":
		return
	case now.Agent == "" && assembly.IsFolder(p.settings.Source):
		out.Notes = append(out.Notes, fmt.Sprintf("the fleet moves to its home %s once an agent follows it from a repository", home.Cluster))
		return
	}
	from := cmp.Or(now.Agent, "the agent that claims the fleet")
	out.Changes = append(out.Changes, change{
		Change: moveFleet, Cluster: home.Cluster.String(),
		Reason: fmt.Sprintf("fleet.yaml names it as home: %s hands the fleet over to %s once the cluster is provisioned; no machine changes", from, to),
	})
}

// prune adds the deletion of a cluster that vanished.
func (out *planned) prune(r fleet.Report) {
	const reason = "the cluster vanished from Git and fleet.yaml says to prune"
	if r.Phase == fleet.PhaseDeleted {
		return
	}
	out.Changes = append(out.Changes, changeOf(plan.Change{Kind: plan.DeleteCluster, Cluster: r.Cluster, Reason: reason}))
	for _, m := range r.Machines {
		out.Changes = append(out.Changes, changeOf(plan.Change{
			Kind: plan.DeleteMachine, Cluster: r.Cluster, Pool: m.Machine.Pool, Machine: m.Machine.Name, Reason: reason,
		}))
	}
}
