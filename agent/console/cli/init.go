package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	names "k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/scaffold"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/sources/git"
)

func newInit(built wiring.Built) *cobra.Command {
	var name, cluster string
	cmd := &cobra.Command{
		Use:     "init [FOLDER]",
		GroupID: groupWrite,
		Short:   "Create a fleet repository with a first cluster",
		Long: `Create a fleet repository with a first cluster, from the example of a provider:
fleet.yaml, a base that clusters share, and an overlay. Prompts for missing values if
standard input is a terminal. Otherwise uses the values of the example. If FOLDER is
not in a Git repository, the command initializes one. It commits nothing.`,
		Example: `  fairlead init fleet
  fairlead init fleet --provider openstack --name harbour --cluster prod/eu-1 --flavor ha \
    --set OPENSTACK_EXTERNAL_NETWORK=public --set 'API_ALLOWED_CIDRS=["192.0.2.0/24"]'
  fairlead init fleet --provider inmemory --flavor k3s
  fairlead init fleet --provider vsphere --list-variables`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	f := addScaffold(cmd, built)
	cmd.Flags().StringVar(&name, "name", "fleet", "name of the fleet, in the tags of its machines")
	cmd.Flags().StringVar(&cluster, "cluster", "default/one", "first cluster, NAMESPACE/NAME")
	declare(cmd, verbatim, []string{"name"})
	ask := cmd.Flags().Bool("ask", false, "prompt for missing values (default: if standard input is a terminal)")
	settings(cmd, "ask")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		folder := "."
		if len(argv) > 0 {
			folder = argv[0]
		}
		if err := unused(folder); err != nil {
			return err
		}
		q := newQuestions(cmd, *ask)
		t, flavor, err := f.template(q, nil)
		if err != nil {
			return err
		}
		if f.list {
			return f.showVariables(cmd.OutOrStdout(), t, flavor)
		}
		if name, err = q.ask("name", "name of the fleet", name); err != nil {
			return err
		}
		if cluster, err = q.ask("cluster", "first cluster, NAMESPACE/NAME", cluster); err != nil {
			return err
		}
		c, err := f.cluster(q, t, flavor, cluster)
		if err != nil {
			return err
		}
		return f.begin(cmd, folder, name, t, c)
	}
	return cmd
}

// unused returns an error where folder is a fleet already.
func unused(folder string) error {
	for _, mark := range []string{render.ConfigFile, "clusters"} {
		if _, err := os.Lstat(filepath.Join(folder, mark)); err == nil {
			return fmt.Errorf("%s has a %s and is a fleet already: to add a cluster, run fairlead generate cluster NAMESPACE/NAME --into %[1]s", folder, mark)
		}
	}
	return nil
}

// begin writes a fleet with the cluster c into folder, and says whether it is right and
// what comes next.
func (f *scaffoldFlags) begin(cmd *cobra.Command, folder, name string, t scaffold.Template, c scaffold.Cluster) error {
	shared, err := t.Shared()
	if err != nil {
		return err
	}
	config, err := t.Fleet(name, c.Values)
	if err != nil {
		return err
	}
	// What fleet.yaml says needs no line in the overlay.
	maps.DeleteFunc(c.Values, func(v, _ string) bool { _, ok := shared[v]; return ok })
	overlay, included, err := t.Cluster(c)
	if err != nil {
		return &usageError{err}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if cloneOf(absolute(folder)) == "" {
		if err := git.Init(cmd.Context(), folder); err != nil {
			return err
		}
	}
	if err := f.write(cmd, folder, config, overlay, included); err != nil {
		return err
	}
	return f.judge(cmd, folder, "", append(t.Needs, next(folder)...))
}

// next says what a person does with a new fleet in folder.
func next(folder string) []string {
	return []string{
		"Review " + filepath.Join(folder, render.ConfigFile) + ", commit, and push to your repository",
		"Before the first push, run: fairlead check " + folder,
		"To create the cluster, run: fairlead agent --source URL-OF-THE-REPOSITORY",
	}
}

func absolute(folder string) string {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return folder // there is no current folder
	}
	return abs
}

// judge renders what was written to folder, of it the part that is named, and shows whether
// it is right. What is to be done is said first where it is.
func (f *scaffoldFlags) judge(cmd *cobra.Command, folder, part string, todo []string) error {
	s := (&sourceFlags{cmd: cmd, settings: wiring.Settings{Built: f.built}}).from([]string{filepath.Join(folder, filepath.FromSlash(part))}, quiet(cmd.ErrOrStderr()))
	p, err := locate(cmd.Context(), s)
	if err != nil {
		return err
	}
	v := &valueFlags{warn: func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+text) }}
	loaded, err := p.load(cmd.Context(), v.options())
	if err != nil {
		return err
	}
	if err := showValidation(cmd, output.FormatTable, loaded); err != nil {
		return err
	}
	if len(loaded.Problems) > 0 {
		return &exitError{exitFailure}
	}
	if len(loaded.Clusters) == 0 {
		return errors.New("what was written is not of this fleet: its fleet.yaml includes other folders than clusters")
	}
	if len(todo) > 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "\nnext:")
	}
	for _, n := range todo {
		fmt.Fprintln(cmd.OutOrStdout(), "  - "+n)
	}
	return nil
}

// write writes files below folder, those of included where the fleet has not got them, and
// says which.
func (f *scaffoldFlags) write(cmd *cobra.Command, folder string, config, overlay scaffold.Files, included map[string]scaffold.Files) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	all := []scaffold.Files{config}
	for _, name := range slices.Sorted(maps.Keys(included)) {
		if _, err := root.Lstat(filepath.FromSlash(name)); err == nil {
			continue
		}
		all = append(all, included[name])
	}
	for _, files := range append(all, overlay) {
		for _, name := range files.Names() {
			if err := writeNew(root, name, files[name]); err != nil {
				return fmt.Errorf("cannot write %s: %w", filepath.Join(folder, name), err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), "wrote "+filepath.Join(folder, name))
		}
	}
	return nil
}

// writeNew writes a file that is not there yet.
func writeNew(root *os.Root, name, text string) error {
	if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return cmp.Or(err, file.Close())
}

// clusterOf returns the cluster that text names, which is to be made.
func clusterOf(text string) (fleet.Key, error) {
	k, err := fleet.ParseKey(text)
	if err != nil {
		return k, &usageError{err}
	}
	for _, part := range []string{k.Namespace, k.Name} {
		if wrong := names.IsDNS1123Label(part); len(wrong) > 0 {
			return k, &usageError{fmt.Errorf("invalid cluster name %q: %s", text, wrong[0])}
		}
	}
	return k, nil
}
