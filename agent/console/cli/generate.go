package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/scaffold"
	"fairlead.dev/agent/wiring"
)

func newGenerate(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "generate",
		GroupID: groupWrite,
		Short:   "Generate manifests",
		Args:    args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGenerateCluster(built))
	return cmd
}

func newGenerateCluster(built wiring.Built) *cobra.Command {
	var into string
	cmd := &cobra.Command{
		Use:   "cluster NAMESPACE/NAME",
		Short: "Generate the overlay of a new cluster",
		Long: `Generate the overlay clusters/NAMESPACE/NAME in the fleet of the current folder, like a
cluster in the example of the provider. Missing parts that it includes, such as a
component, are generated as well. Existing files are never changed. Values that are not
set come from fleet.yaml or the base.`,
		Example: `  fairlead generate cluster prod/eu-2 --kubernetes-version v1.34.1 --worker-machine-count 3
  fairlead generate cluster prod/eu-3 --flavor ha --set ENDPOINT=192.0.2.10
  fairlead generate cluster prod/eu-3 --flavor ha --list-variables`,
		Args: args(cobra.ExactArgs(1)),
	}
	f := addScaffold(cmd, built)
	cmd.Flags().StringVar(&into, "into", ".", "folder of the fleet, or a folder in it")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		k, err := clusterOf(argv[0])
		if err != nil {
			return err
		}
		if _, err := os.Stat(into); err != nil {
			return noFleetAt(into, err)
		}
		if f.provider == "" && markedRoot(absolute(into)) == "" {
			return fmt.Errorf("%w. Change to a clone of the fleet, set --into, or create a fleet with 'fairlead init'", noFleet(absolute(into)))
		}
		root := rootOf(absolute(into))
		q := newQuestions(cmd, false)
		t, flavor, err := f.template(q, &root)
		if err != nil {
			return err
		}
		if f.list {
			return f.showVariables(cmd.OutOrStdout(), t, flavor)
		}
		folder := scaffold.Folder(k)
		if _, err := os.Lstat(filepath.Join(root, folder)); err == nil {
			return fmt.Errorf("folder %s already exists: edit its files, or choose another name", filepath.Join(root, folder))
		}
		c, err := f.cluster(q, t, flavor, k.String())
		if err != nil {
			return err
		}
		overlay, included, err := t.Cluster(c)
		if err != nil {
			return &usageError{err}
		}
		if err := f.write(cmd, root, nil, overlay, included); err != nil {
			return err
		}
		return f.judge(cmd, root, folder, nil)
	}
	return cmd
}

// scaffoldFlags are the flags of commands that write manifests from the examples.
type scaffoldFlags struct {
	built                     wiring.Built
	provider, flavor, version string
	controlPlane, workers     int
	values                    []string
	list                      bool
}

// addScaffold adds them to cmd. They are called as those of clusterctl are.
func addScaffold(cmd *cobra.Command, built wiring.Built) *scaffoldFlags {
	f := &scaffoldFlags{built: built}
	fs := cmd.Flags()
	fs.StringVar(&f.provider, "provider", "", "infrastructure provider: "+f.providers()+" (default: that of the bases of the fleet). K3s is a flavor of inmemory")
	fs.StringVarP(&f.flavor, "flavor", "f", "", "flavor of the cluster: small, ha, or another one of the provider (default: small)")
	fs.StringVar(&f.version, "kubernetes-version", "", "Kubernetes version, such as v1.34.1")
	fs.IntVar(&f.controlPlane, "control-plane-machine-count", 0, "number of control-plane machines")
	fs.IntVar(&f.workers, "worker-machine-count", -1, "number of workers")
	fs.Lookup("worker-machine-count").DefValue = "" // the example's: -1 is no number that people can set
	fs.StringArrayVar(&f.values, "set", nil, "value of another variable, NAME=VALUE; may be repeated")
	fs.BoolVar(&f.list, "list-variables", false, "list the variables of the flavor with their values in the example, and exit")
	declare(cmd, verbatim, []string{"provider", "flavor", "kubernetes-version"})
	settings(cmd, "list-variables")
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions(strings.Split(f.providers(), ", "), cobra.ShellCompDirectiveNoFileComp))
	return f
}

// providers names those that this program has templates for.
func (f *scaffoldFlags) providers() string {
	var names []string
	for _, t := range f.templates() {
		names = append(names, t.Provider)
	}
	return strings.Join(names, ", ")
}

// templates returns those of the providers that this program has.
func (f *scaffoldFlags) templates() []scaffold.Template {
	return slices.DeleteFunc(scaffold.Templates(), func(t scaffold.Template) bool {
		for _, p := range f.built.Providers {
			if p.Name == t.Provider {
				return false
			}
		}
		return true
	})
}

// template returns the template and the flavor that the flags name; without one, those of the
// fleet at root, where there is one, or what q is answered.
func (f *scaffoldFlags) template(q *questions, root *string) (scaffold.Template, scaffold.Flavor, error) {
	var t scaffold.Template
	var err error
	if f.provider == "" && root != nil {
		t, err = scaffold.Find(os.DirFS(*root))
	} else {
		if f.provider, err = q.ask("provider", "infrastructure provider, of "+f.providers(), f.provider); err != nil {
			return t, scaffold.Flavor{}, err
		}
		t, err = scaffold.Of(f.provider)
	}
	if err != nil {
		return t, scaffold.Flavor{}, &usageError{err}
	}
	if len(t.Flavors) > 1 {
		if f.flavor, err = q.ask("flavor", "flavor, of "+flavorNames(t.Flavors), f.flavorOr(t)); err != nil {
			return t, scaffold.Flavor{}, err
		}
	}
	flavor, err := t.Flavor(f.flavor)
	if err != nil {
		return t, flavor, &usageError{err}
	}
	return t.For(flavor), flavor, nil
}

func (f *scaffoldFlags) flavorOr(t scaffold.Template) string {
	if f.flavor != "" {
		return f.flavor
	}
	return t.Flavors[0].Name
}

func flavorNames(all []scaffold.Flavor) string {
	var out []string
	for _, f := range all {
		out = append(out, f.Name)
	}
	return strings.Join(out, ", ")
}

// cluster returns the cluster called name that the flags, and answers, say.
func (f *scaffoldFlags) cluster(q *questions, t scaffold.Template, flavor scaffold.Flavor, name string) (scaffold.Cluster, error) {
	c := scaffold.Cluster{Flavor: flavor.Name, Values: make(map[string]string)}
	var err error
	if c.Key, err = clusterOf(name); err != nil {
		return c, err
	}
	for _, text := range f.values {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return c, &usageError{fmt.Errorf("invalid --set %q: must be NAME=VALUE", text)}
		}
		c.Values[name] = value
	}
	if f.version != "" {
		c.Values[scaffold.Version] = f.version
	}
	if f.controlPlane != 0 {
		c.Values[scaffold.ControlPlane] = strconv.Itoa(f.controlPlane)
	}
	if f.workers >= 0 {
		c.Values[scaffold.Workers] = strconv.Itoa(f.workers)
	}
	known, err := t.Variables(flavor)
	if err != nil {
		return c, err
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if _, given := c.Values[name]; given {
			continue
		}
		value, err := q.ask("", name, known[name])
		if err != nil {
			return c, err
		}
		if value != known[name] {
			c.Values[name] = value
		}
	}
	return c, nil
}

// showVariables lists the variables of flavor.
func (f *scaffoldFlags) showVariables(w io.Writer, t scaffold.Template, flavor scaffold.Flavor) error {
	known, err := t.Variables(flavor)
	if err != nil {
		return err
	}
	table := output.Table{Header: []string{"VARIABLE", "EXAMPLE"}}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		value := known[name]
		if slices.Contains(flavor.Required, name) {
			value = "(to be given)"
		}
		table.Add(name, value)
	}
	return table.Text(w)
}
