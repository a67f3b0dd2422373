package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

func newPlan(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "plan [PATH|URL]",
		GroupID: groupWrite,
		Short:   "Show what a revision would change, and why",
		Long: `Show what a revision would change, and why: every machine that would be created,
replaced or deleted. The command observes the real infrastructure, plans as the agent
does, and changes nothing. --ref plans a branch, tag or commit; PATH plans the files of
a folder, committed or not. --base compares with another revision, and also lists the
pools whose machines are replaced, with the fields that differ.

It needs the secrets of the agent (--source or --secrets) to query the API servers of
clusters. Without them it plans with the infrastructure only and says so. --last-seen
needs no credentials of clouds and clusters: it plans with the last state on the status
branch. --out writes a plan to a file; --against compares the file with later actions.

The plan compares fleet.yaml and the clusters with the revision that the agent applied
last. Changes that end a promise, such as a removed freeze, come first.

The exit code is 0 without changes, 2 with changes, and 1 after an error.`,
		Example: `  fairlead plan --source https://git.example.com/fleet.git --ref feature
  fairlead plan ./fleet --status-repository https://git.example.com/fleet.git -o markdown
  fairlead plan --source https://git.example.com/fleet.git --ref feature --base main
  fairlead plan --source https://git.example.com/fleet.git --pull-request 12
  fairlead plan --source https://git.example.com/fleet.git --ref feature --last-seen --out plan.json
  fairlead plan --source https://git.example.com/fleet.git --against plan.json
  fairlead plan ./fleet --inmemory-url http://127.0.0.1:8080/inmemory`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	f := addSource(cmd, built)
	f.addRender(cmd)
	f.addFolders(cmd)
	f.addStatus(cmd)
	f.addSecrets(cmd)
	f.addProviders(cmd)
	v := addValues(cmd)
	cmd.Flags().StringVar(&f.base, "base", "", "branch, tag or commit to compare with; for a folder, another folder or a repository URL")
	f.terms = true
	proposal := cmd.Flags().String("pull-request", "", "show the agent's plan of a pull request, by its number or ref, from the status branch")
	partOfFleet(cmd)
	cmd.Flags().BoolVar(&f.lastSeen, "last-seen", false, "plan with the last state on the status branch, without credentials of clouds and clusters")
	settings(cmd, "last-seen")
	keep := cmd.Flags().String("out", "", "file to write the plan to, for --against")
	against := cmd.Flags().String("against", "", "file that --out wrote: show what the agent has done since, from the status branch")
	unusedWith(cmd, "pull-request", "against", "base", "last-seen", "out", "set", "source-folder", "allow-unset")
	unusedWith(cmd, "against", "base", "last-seen", "out", "set", "source-folder", "allow-unset")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, err := f.located(cmd, argv)
		if err != nil {
			return err
		}
		if *proposal != "" || *against != "" {
			if p, err = p.withOrigin(cmd.Context()); err != nil {
				return err
			}
		}
		if *proposal != "" {
			branch, err := p.branch(cmd.Context(), f.branch)
			if err != nil {
				return err
			}
			return showPullRequest(cmd.Context(), cmd.OutOrStdout(), p, branch, *proposal, output.Format(*form))
		}
		if *against != "" {
			return showAgainst(cmd, p, f, *against, output.Format(*form))
		}
		out, err := makePlan(cmd.Context(), p, f, v)
		if err != nil {
			return err
		}
		if *keep != "" {
			if err := keepPlan(*keep, out, time.Now()); err != nil {
				return err
			}
		}
		if err := out.Write(cmd.OutOrStdout(), output.Format(*form)); err != nil {
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

// showAgainst shows what became of the plan in the file called name.
func showAgainst(cmd *cobra.Command, p selection, f *sourceFlags, name string, form output.Format) error {
	kept, err := readPlan(name)
	if err != nil {
		return err
	}
	branch, err := p.branch(cmd.Context(), f.branch)
	if err != nil {
		return err
	}
	s, err := p.status(cmd.Context(), branch)
	if err != nil {
		return err
	}
	return compareKept(cmd.OutOrStdout(), form, kept, s)
}

// makePlan plans the selection p, and changes nothing.
func makePlan(ctx context.Context, p selection, f *sourceFlags, v *valueFlags) (*preview.Plan, error) {
	p, err := p.withRenderer(v.options())
	if err != nil {
		return nil, err
	}
	all, err := p.loadAll(ctx, v.options())
	if err != nil {
		return nil, err
	}
	p, s, note, err := p.statusOf(ctx, cmp.Or(f.branch, all.Config.StatusBranch))
	if err != nil {
		return nil, fmt.Errorf("cannot read the status branch: %w", err)
	}
	if len(all.Clusters)+len(all.Problems)+len(s.Clusters) == 0 {
		if is, err := p.isFleet(ctx); !is {
			return nil, errors.Join(err, p.empty())
		}
	}
	out := preview.New(preview.Options{
		Fleet: all, Status: s, Scope: p.scope, Folder: wiring.IsFolder(p.settings.Source), Recreate: f.gone, RecreateAs: f.recreate,
	})
	if note != "" {
		out.Notes = append(out.Notes, note)
	}
	if p.scope != scope.All && out.Empty() {
		return nil, p.empty()
	}
	w, err := wiring.OpenRuntime(ctx, p.settings, wiring.ReadOnly, nil)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if f.lastSeen {
		if err := out.Look(ctx, w.RecordedLooker(s, time.Now)); err != nil {
			return nil, err
		}
		if err := p.compare(ctx, out, f, s.Fleet.Applied, v.options()); err != nil {
			return nil, err
		}
		return out, p.noteAge(ctx, out, cmp.Or(f.branch, all.Config.StatusBranch))
	}
	if err := out.Look(ctx, w.Looker()); err != nil {
		return nil, err
	}
	if err := p.compare(ctx, out, f, s.Fleet.Applied, v.options()); err != nil {
		return nil, err
	}
	if s.Owner.Agent == "" && p.isClone() && note == "" {
		out.Notes = append(out.Notes, "no status branch found: clusters removed from Git are not part of this plan. Set --status-repository")
	}
	out.Notes = append(out.Notes, p.notes(s, out)...)
	return out, nil
}

// noteAge notes in out the age of the status that the plan is based on.
func (p selection) noteAge(ctx context.Context, out *preview.Plan, branch string) error {
	b, err := p.settings.OpenBranch(branch)
	if err != nil {
		return err
	}
	age, err := written(ctx, b, time.Now())
	if err != nil {
		return err
	}
	out.Notes = slices.DeleteFunc(out.Notes, func(n string) bool { return strings.HasPrefix(n, "the secrets of ") })
	out.Notes = append(out.Notes, "planned by "+age)
	return nil
}

// notes are what a person should know beside the plan.
func (p selection) notes(s status.Status, out *preview.Plan) []string {
	var notes []string
	if n := out.Requested(); s.Signed && !s.Checked && n > 0 {
		notes = append(notes, fmt.Sprintf("the plan contains %d requests and scales from the status branch without checking their signatures. The agent accepts only signed ones: set --request-keys", n))
	}
	if p.emptyCloud(out.Desired()) {
		notes = append(notes, emptyCloud)
	}
	return notes
}

const emptyCloud = "the in-memory cloud of this process is empty: set --inmemory-url to that of a running agent"

// emptyCloud reports whether one of clusters is in the in-memory cloud of this process.
func (p selection) emptyCloud(clusters []*fleet.Cluster) bool {
	return p.settings.Providers["inmemory"]["url"] == "" && slices.ContainsFunc(clusters, func(c *fleet.Cluster) bool { return slices.Contains(c.Providers(), "inmemory") })
}

// compare adds to out how p differs from --base; without it, what ends or changes since the revision
// that the agent applied last.
func (p selection) compare(ctx context.Context, out *preview.Plan, f *sourceFlags, applied fleet.Revision, o wiring.RenderOptions) error {
	if f.base == "" {
		if f.terms {
			p.compareApplied(ctx, out, applied, o)
		}
		return nil
	}
	b, err := p.base(ctx, f.base)
	if err != nil {
		return err
	}
	before, err := b.load(ctx, o)
	if err != nil {
		return fmt.Errorf("cannot read what to compare with: %w", err)
	}
	out.Compare(before, nil)
	return nil
}

// compareApplied adds to out what ends or changes since the revision that the agent applied last.
func (p selection) compareApplied(ctx context.Context, out *preview.Plan, applied fleet.Revision, o wiring.RenderOptions) {
	hash := applied.Hash()
	if hash == "" || strings.HasSuffix(out.Revision, hash) {
		return
	}
	s := p.settings
	s.Ref = hash
	before, err := fleet.Fleet{}, error(nil)
	b := selection{settings: s, scope: p.scope, renderer: p.renderer}
	if wiring.IsFolder(s.Source) {
		b.renderer = nil // the source is another one
		b.settings.Source, b.settings.Path, err = inClone(s.Source)
	}
	if err == nil {
		before, err = b.load(ctx, o)
	}
	if err != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("what fleet.yaml and definitions changed since revision %s, which the agent applied last, is not in this plan (name it with --base): %v", applied.Short(), err))
		return
	}
	out.CompareTerms(before, nil)
}

// inClone returns the clone that folder is in as a repository, and the path of folder in it.
func inClone(folder string) (repository, path string, err error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return "", "", err
	}
	clone := cloneOf(abs)
	if clone == "" {
		return "", "", fmt.Errorf("%s is not in a clone", folder)
	}
	if path, err = filepath.Rel(clone, abs); path == "." {
		path = ""
	}
	return "file://" + filepath.ToSlash(clone), filepath.ToSlash(path), err
}

// base returns the selection at the revision to compare with: a branch, tag or commit of
// its repository, another folder, or the URL of a repository.
func (p selection) base(ctx context.Context, name string) (selection, error) {
	s := p.settings
	if !wiring.IsFolder(s.Source) {
		s.Ref = name
		return selection{settings: s, scope: p.scope, renderer: p.renderer}, nil
	}
	s.Source, s.Ref, s.Path = name, "", ""
	if !wiring.IsFolder(name) {
		return selection{settings: s, scope: p.scope}, nil
	}
	b, err := locate(ctx, s)
	if err != nil {
		return selection{}, fmt.Errorf("--base %s: the source is a folder, so it names another folder, or the URL of a repository: %w", name, err)
	}
	return b, nil
}
