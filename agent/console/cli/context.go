package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/agent/console/contexts"
	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/render"
)

// contextFlag is the flag that chooses a context.
const contextFlag = "context"

// addContext adds the flag that chooses a context.
func addContext(cmd *cobra.Command) {
	defer share(cmd)()
	cmd.Flags().String(contextFlag, "", "context to use; see fairlead context list (default: the current one, if neither the command line nor the current folder names a fleet)")
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(contextFlag, completeContexts)
}

// addContexts adds the flag to cmd and all commands below it that are about a fleet. Commands that
// run an agent take all settings from their command line.
func addContexts(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		addContexts(below)
	}
	if cmd.Flags().Lookup("source") != nil && cmd.Flags().Lookup(contextFlag) == nil && cmd.GroupID != groupRun && cmd.Annotations[asGiven] == "" {
		addContext(cmd)
	}
}

// asGiven marks commands that take flags from their command line alone.
const asGiven = "fairlead.dev/as-given"

// fill sets flags of cmd that are not on its command line: from the environment, and
// from the context that counts.
func fill(cmd *cobra.Command, argv []string) error {
	if err := environment(cmd, argv); err != nil {
		return err
	}
	chosen := cmd.Flags().Lookup(contextFlag)
	if chosen == nil || !declared(chosen, shared) {
		return nil
	}
	named := cmd.Flags().Lookup("source").Value.String() != "" || strings.Contains(cmd.Use, "PATH|URL") && len(argv) > 0 && isSource(argv[0])
	name := chosen.Value.String()
	switch {
	case name != "" && named:
		return &usageError{errors.New("a source and --context are both set: use one of them")}
	case name == "" && (named || inFleet()):
		if !named {
			noteUnused(cmd)
		}
		return nil
	}
	file, err := contexts.File(os.Getenv)
	if err != nil {
		if name == "" {
			return nil // no context is selected
		}
		return err
	}
	known, err := contexts.Read(file)
	if err != nil {
		return err
	}
	if name == "" {
		name = known.Current
	}
	if name == "" {
		return nil
	}
	c, err := known.Known(name)
	if err != nil {
		return err
	}
	return apply(cmd, c)
}

// apply sets the flags of cmd that c has and that are not set yet.
func apply(cmd *cobra.Command, c contexts.Context) error {
	for name, values := range c.Flags {
		f := cmd.Flags().Lookup(name)
		if f == nil || f.Changed || !declared(f, shared) {
			continue // other commands have it
		}
		for _, v := range values {
			if err := cmd.Flags().Set(name, v); err != nil {
				return &usageError{fmt.Errorf("context %s: %w", c.Name, err)}
			}
		}
	}
	return nil
}

// noteUnused says on standard error that the current folder is used in the place of the current context,
// if only a folder clusters makes it a fleet, which others have, too.
func noteUnused(cmd *cobra.Command) {
	folder, err := os.Getwd()
	if err != nil {
		return
	}
	root := rootOf(folder)
	if _, err := os.Stat(filepath.Join(root, render.ConfigFile)); err == nil {
		return
	}
	file, err := contexts.File(os.Getenv)
	if err != nil {
		return
	}
	if known, err := contexts.Read(file); err == nil && known.Current != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "using the fleet in %s, which has a folder clusters and no %s. Set --context %s for the current context.\n", root, render.ConfigFile, known.Current)
	}
}

// inFleet reports whether the current folder is in a fleet: one with a fleet.yaml, or with a folder clusters
// that is not Flux's.
func inFleet() bool {
	folder, err := os.Getwd()
	if err != nil {
		return false
	}
	root := rootOf(folder)
	if _, err := os.Stat(filepath.Join(root, render.ConfigFile)); err == nil {
		return true
	}
	clusters := filepath.Join(root, "clusters")
	_, err = os.Stat(clusters)
	flux, _ := filepath.Glob(filepath.Join(clusters, "*", "flux-system"))
	return err == nil && len(flux) == 0
}

func newContext(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Manage contexts (named fleets)",
		Long: `Manage contexts: names of fleets with their flags, in fairlead/config.yaml in
$XDG_CONFIG_HOME or ~/.config. The current context is used if neither the command line
nor the current folder names a fleet. A context holds no secrets, only file names.`,
		Example: `  fairlead context set prod --source https://git.example.com/fleet.git --request-keys keys/
  fairlead context use prod
  fairlead status --context staging`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newContextList(), newContextUse(), newContextSet(built), newContextDelete())
	return cmd
}

// contextView is one context as JSON and YAML.
type contextView struct {
	Name    string         `json:"name"`
	Current bool           `json:"current"`
	Flags   contexts.Flags `json:"flags"`
}

func newContextList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List contexts", Args: args(cobra.NoArgs)}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown, output.FormatName, output.FormatJSONPath)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return onContexts(func(c *contexts.Contexts) (bool, error) {
			t := output.Table{Header: []string{"CURRENT", "NAME", "SOURCE", "FLAGS"}, Name: 1}
			views := []contextView{}
			for _, one := range c.List {
				current, others := "", []string{}
				if one.Name == c.Current {
					current = "*"
				}
				for name := range one.Flags {
					if name != "source" {
						others = append(others, name)
					}
				}
				slices.Sort(others)
				t.Add(current, one.Name, one.Source(), strings.Join(others, ", "))
				views = append(views, contextView{Name: one.Name, Current: current != "", Flags: one.Flags})
			}
			return false, t.Write(cmd.OutOrStdout(), output.Format(*form), views)
		})
	}
	return cmd
}

func newContextUse() *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Set the current context", Args: args(cobra.ExactArgs(1)), ValidArgsFunction: completeContexts,
		RunE: func(cmd *cobra.Command, argv []string) error {
			return onContexts(func(c *contexts.Contexts) (bool, error) {
				one, err := c.Known(argv[0])
				if err != nil {
					return false, err
				}
				c.Current = one.Name
				fmt.Fprintf(cmd.OutOrStdout(), "context %s: %s\n", one.Name, one.Source())
				return true, nil
			})
		},
	}
}

func newContextDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a context", Args: args(cobra.ExactArgs(1)), ValidArgsFunction: completeContexts,
		RunE: func(cmd *cobra.Command, argv []string) error {
			return onContexts(func(c *contexts.Contexts) (bool, error) {
				if _, err := c.Known(argv[0]); err != nil {
					return false, err
				}
				c.Delete(argv[0])
				fmt.Fprintf(cmd.OutOrStdout(), "context %s deleted\n", argv[0])
				return true, nil
			})
		},
	}
}

func newContextSet(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set NAME --source URL",
		Short: "Create or change a context",
		Long: `Create a context with the global flags given here, or change its flags. The first context
becomes the current one. An empty value removes a flag. File names are stored as
absolute paths.`,
		Example: `  fairlead context set prod --source https://git.example.com/fleet.git --token-file ~/.fleet-token`,
		Args:    args(cobra.ExactArgs(1)), ValidArgsFunction: completeContexts,
		Annotations: map[string]string{asGiven: "true"},
	}
	sharedFlags(cmd, built)
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		return onContexts(func(c *contexts.Contexts) (bool, error) {
			one, known := c.Find(argv[0])
			if !known {
				one = contexts.Context{Name: argv[0], Flags: contexts.Flags{}}
			}
			if err := collect(cmd, one.Flags); err != nil {
				return false, err
			}
			if one.Source() == "" {
				return false, &usageError{fmt.Errorf("context %s has no source: set --source", one.Name)}
			}
			c.Set(one)
			if len(c.List) == 1 {
				c.Current = one.Name
			}
			fmt.Fprintf(cmd.OutOrStdout(), "context %s: %s\n", one.Name, one.Source())
			return true, nil
		})
	}
	return cmd
}

// collect takes the flags that are given to cmd into flags.
func collect(cmd *cobra.Command, flags contexts.Flags) error {
	var failed error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if many, ok := f.Value.(interface{ GetSlice() []string }); ok {
			values = many.GetSlice()
		}
		if strings.Join(values, "") == "" {
			delete(flags, f.Name)
			return
		}
		for i, v := range values {
			if redacted(v) != v {
				failed = &usageError{fmt.Errorf("--%s has a password, and a context holds no credentials: use --token-file, --credentials, or a Git credential helper", f.Name)}
				return
			}
			if !declared(f, verbatim) {
				values[i] = fromRoot(v)
			}
		}
		flags[f.Name] = values
	})
	return failed
}

// fromRoot returns text, as a name from the root where it is one of a file.
func fromRoot(text string) string {
	before, name := "", text
	if at := strings.LastIndexAny(text, ":="); at >= 0 { // kubernetes:KUBECONFIG, PREFIX=FOLDER
		before, name = text[:at+1], text[at+1:]
	}
	if filepath.IsAbs(name) || name == "" {
		return text
	}
	if _, err := os.Stat(name); err != nil {
		return text
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return text
	}
	return before + abs
}

// onContexts calls do with the contexts of this person, and writes them back where it says
// that it changed them.
func onContexts(do func(c *contexts.Contexts) (changed bool, err error)) error {
	file, err := contexts.File(os.Getenv)
	if err != nil {
		return err
	}
	c, err := contexts.Read(file)
	if err != nil {
		return err
	}
	changed, err := do(&c)
	if err != nil || !changed {
		return err
	}
	return c.Write(file)
}

// completeContexts completes names of contexts.
func completeContexts(_ *cobra.Command, argv []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	if len(argv) == 0 {
		_ = onContexts(func(c *contexts.Contexts) (bool, error) {
			for _, one := range c.List {
				names = append(names, cobra.CompletionWithDesc(one.Name, one.Source()))
			}
			return false, nil
		})
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
