package cli

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flagGroup is a group of flags in the help of commands that run an agent, with patterns of
// their names. A flag is in the first group with a pattern for it.
type flagGroup struct {
	title string
	flags []string
}

// flagGroups are the groups of flags, those first that people need first.
func flagGroups() []flagGroup {
	return []flagGroup{
		{"Source", []string{"source", "ref", "path", "fleet-id", "interval", "allow-source", "trusted-keys", "trust-merges"}},
		{"Credentials", []string{"credentials", "token-file", "username", "password-file", "bearer-token-file", "ssh-*", "known-hosts", "ca-file", "client-*", "docker-config", "plain-http", "proxy"}},
		{"Status branch", []string{"status-*", "request-keys", "signing-key"}},
		{"Secrets", []string{"secrets", "age-identity-file", "sops-program"}},
		{"Reconciliation", []string{"name", "take-over", "wait-for-ownership", "resync", "workers"}},
		{"Rendering", []string{"render-*"}},
		{"High availability", []string{"leader-election*", "replica-*", "shards"}},
		{"HTTP endpoints", []string{"listen", "listen-*", "metrics-clusters", "hung-after", "pprof", "serve-inmemory"}},
		{"Webhooks", []string{"webhook-*"}},
		{"Pull requests", []string{"forge", "forge-*"}},
		{"Notifications", []string{"notification-*"}},
		{"Web page", []string{"page-*"}},
		{"Autoscaler", []string{"autoscaler-*"}},
		{"Tracing and logs", []string{"otlp-*", "log-*"}},
		{"Providers", []string{"aws-*", "azure-*", "docker-*", "hosts-*", "inmemory-*", "maas-*", "metal3-*", "openstack-*", "vsphere-*"}},
	}
}

// grouped marks a command whose help names most of its flags without describing them, so that
// it fits on a screen.
const grouped = "fairlead.dev/grouped-flags"

// mainFlags are the flags of a group that the help describes nevertheless.
func mainFlags() []string {
	return []string{"source", "name", "secrets", "interval", "listen"}
}

// groupOf returns the title of the group of the flag called name. Flags in no group are
// those of the command itself, and of providers of other builds.
func groupOf(name string) string {
	for _, g := range flagGroups() {
		if slices.ContainsFunc(g.flags, func(pattern string) bool {
			ok, _ := path.Match(pattern, name)
			return ok
		}) {
			return g.title
		}
	}
	return other
}

const other = "Other"

// byGroup returns the groups of flags, those of no group last.
func byGroup(flags *pflag.FlagSet) ([]string, map[string]*pflag.FlagSet) {
	var titles []string
	groups := map[string]*pflag.FlagSet{}
	for _, g := range append(flagGroups(), flagGroup{title: other}) {
		flags.VisitAll(func(f *pflag.Flag) {
			if groupOf(f.Name) != g.title {
				return
			}
			if groups[g.title] == nil {
				groups[g.title] = pflag.NewFlagSet("", pflag.ContinueOnError)
				titles = append(titles, g.title)
			}
			groups[g.title].AddFlag(f)
		})
	}
	return titles, groups
}

// usageFlags lists flags of cmd. Of a command with many it describes the main ones, and names
// the others by group.
func usageFlags(w io.Writer, cmd *cobra.Command, flags *pflag.FlagSet) {
	if _, many := cmd.Annotations[grouped]; !many {
		fmt.Fprintf(w, "\nFlags:\n%s", flags.FlagUsagesWrapped(helpWidth))
		return
	}
	main, rest := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if groupOf(f.Name) == other || slices.Contains(mainFlags(), f.Name) {
			main.AddFlag(f)
		} else {
			rest.AddFlag(f)
		}
	})
	fmt.Fprintf(w, "\nMain flags:\n%s\nOther flags:\n", main.FlagUsagesWrapped(helpWidth))
	titles, groups := byGroup(rest)
	for _, title := range titles {
		line := fmt.Sprintf("  %-18s", title)
		groups[title].VisitAll(func(f *pflag.Flag) {
			if len(line)+len(" --")+len(f.Name) > helpWidth {
				fmt.Fprintln(w, line)
				line = strings.Repeat(" ", 20)
			}
			line += " --" + f.Name
		})
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "\nUse 'fairlead options %s' for descriptions of all flags.\n", cmd.Name())
}

// describeFlags lists all flags of cmd by group, with their descriptions.
func describeFlags(w io.Writer, cmd *cobra.Command) {
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			shown.AddFlag(f)
		}
	})
	titles, groups := byGroup(shown)
	for i, title := range titles {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s:\n%s", title, groups[title].FlagUsagesWrapped(helpWidth))
	}
}
