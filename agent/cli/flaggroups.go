package cli

import (
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how wide the help is at most, in characters.
const helpWidth = 110

// A flagGroup is a heading in the help of agent, with patterns of the names of its flags. A
// flag is in the first group with a pattern for it.
type flagGroup struct {
	title string
	flags []string
}

// flagGroups are the headings of the flags of agent, those first that people need first.
func flagGroups() []flagGroup {
	return []flagGroup{
		{"Source", []string{"source", "ref", "path", "fleet-id", "interval", "allow-source", "trusted-keys", "trust-merges"}},
		{"Credentials", []string{"credentials", "token-file", "username", "password-file", "bearer-token-file", "ssh-*", "known-hosts", "ca-file", "client-*", "docker-config", "plain-http", "proxy"}},
		{"Status branch", []string{"status-*", "request-keys", "signing-key"}},
		{"Secrets", []string{"secrets", "age-identity-file", "sops-program"}},
		{"Reconciliation", []string{"name", "take-over", "wait-for-ownership", "resync", "workers"}},
		{"Rendering", []string{"render-*"}},
		{"High availability", []string{"leader-election*", "replica-*", "shards"}},
		{"HTTP endpoints", []string{"listen", "listen-*", "hung-after", "pprof", "serve-inmemory"}},
		{"Webhooks", []string{"webhook-*"}},
		{"Pull requests", []string{"forge", "forge-*"}},
		{"Notifications", []string{"notification-*"}},
		{"Web page", []string{"page-*"}},
		{"Autoscaler", []string{"autoscaler-*"}},
		{"Tracing and logs", []string{"otlp-*", "log-*"}},
		{"Providers", []string{"hosts-*", "inmemory-*", "metal3-*", "openstack-*", "vsphere-*"}},
	}
}

// grouped marks a command whose flags are in groups.
const grouped = "fairlead.dev/grouped-flags"

// groupOf returns the title of the group of the flag called name. Flags in no group are
// those of providers of other builds, and of every command.
func groupOf(name string) string {
	for _, g := range flagGroups() {
		if slices.ContainsFunc(g.flags, func(pattern string) bool {
			ok, _ := path.Match(pattern, name)
			return ok
		}) {
			return g.title
		}
	}
	return "Other"
}

// usageFlags lists flags of cmd, in groups if it has many.
func usageFlags(w io.Writer, cmd *cobra.Command, flags *pflag.FlagSet) {
	if _, many := cmd.Annotations[grouped]; !many {
		fmt.Fprintf(w, "\nFlags:\n%s", flags.FlagUsagesWrapped(helpWidth))
		return
	}
	groups := map[string]*pflag.FlagSet{}
	flags.VisitAll(func(f *pflag.Flag) {
		title := groupOf(f.Name)
		if groups[title] == nil {
			groups[title] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		groups[title].AddFlag(f)
	})
	for _, g := range append(flagGroups(), flagGroup{title: "Other"}) {
		if of := groups[g.title]; of != nil {
			fmt.Fprintf(w, "\n%s:\n%s", g.title, of.FlagUsagesWrapped(helpWidth))
		}
	}
}
