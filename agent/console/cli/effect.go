package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// requirement marks flags that have no effect without another one; exclusion marks those that
// have none beside another one. The values are the names of the others.
const (
	requirement = "fairlead.dev/requires"
	exclusion   = "fairlead.dev/excludes"
)

// needs declares that flags of cmd have no effect unless the flag on is set.
func needs(cmd *cobra.Command, on string, names ...string) { relate(cmd, requirement, on, names) }

// unusedWith declares that flags of cmd have no effect if the flag other is set.
func unusedWith(cmd *cobra.Command, other string, names ...string) {
	relate(cmd, exclusion, other, names)
}

func relate(cmd *cobra.Command, as, other string, names []string) {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if err := cmd.Flags().SetAnnotation(name, as, append(f.Annotations[as], other)); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// given returns the flags of cmd that are set so far, sorted by name.
func given(cmd *cobra.Command) (flags []*pflag.Flag) {
	cmd.Flags().Visit(func(f *pflag.Flag) { flags = append(flags, f) })
	return flags
}

// ofListeners returns the flags that say who may reach a listener of the agent, and how.
func ofListeners() []string {
	return []string{
		"autoscaler-ca-cert", "autoscaler-cert", "autoscaler-key", "listen-client-ca", "listen-tls-cert", "listen-tls-key", "listen-token-file",
		"page-forge", "page-host", "webhook-secret-dir", "webhook-secret-file",
	}
}

// prepare completes the flags of cmd, and refuses flags on the command line that have no effect. An agent refuses those of
// listeners, also from the environment, and warns of the others: one that is started again does not end over a setting
// that it ran with. For other commands the environment has what each of them may use.
func prepare(cmd *cobra.Command, argv []string) error {
	if cmd.Annotations[asGiven] != "" {
		return nil
	}
	typed := given(cmd)
	if err := fill(cmd, argv); err != nil {
		return err
	}
	if cmd.Name() == agentCommand {
		for _, f := range given(cmd) {
			err := effect(cmd, f)
			switch {
			case err == nil:
			case slices.Contains(ofListeners(), f.Name):
				return err
			default:
				fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+err.Error())
			}
		}
		return nil
	}
	for _, f := range typed {
		if err := effect(cmd, f); err != nil {
			return err
		}
	}
	return nil
}

// effect returns an error if f has no effect.
func effect(cmd *cobra.Command, f *pflag.Flag) error {
	if !isSet(f) {
		return nil
	}
	for _, other := range f.Annotations[requirement] {
		if !isSet(cmd.Flags().Lookup(other)) {
			return &usageError{fmt.Errorf("--%s has no effect without --%s: add --%s, or remove --%s", f.Name, other, other, f.Name)}
		}
	}
	for _, other := range f.Annotations[exclusion] {
		if isSet(cmd.Flags().Lookup(other)) {
			return &usageError{fmt.Errorf("--%s has no effect with --%s: remove one of them", f.Name, other)}
		}
	}
	return nil
}

// isSet reports whether f has a value that turns something on.
func isSet(f *pflag.Flag) bool {
	return !slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.Value.String())
}
