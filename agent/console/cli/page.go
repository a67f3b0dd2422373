package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/oklog/run"
	"github.com/spf13/cobra"

	"fairlead.dev/agent/observability/server"
	"fairlead.dev/agent/wiring"
)

// pageFlags say by which names a page is asked for, and where it leads.
type pageFlags struct {
	hosts []string
	forge string
}

func (f *pageFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.hosts, "page-host", nil, "host name of the page, such as that of an ingress. IP addresses and localhost are always allowed; may be repeated")
	fs.StringVar(&f.forge, "page-forge", "", "kind of Git provider for links: github, gitlab, or gitea, also for Forgejo (default: by the host name)")
}

func newPage(built wiring.Built) *cobra.Command {
	var (
		listen   string
		interval time.Duration
		flags    pageFlags
	)
	cmd := &cobra.Command{
		Use:     "page [PATH|URL]",
		GroupID: groupLook,
		Short:   "Serve a read-only web page of the fleet",
		Long: `Serve a read-only web page of the fleet, from the status branch. It needs read access to
that branch and no secrets.

The page has no login: use it on this computer or behind an authenticating proxy. See
docs/guides/fleet/page.md.`,
		Example: `  fairlead page https://git.example.com/fleet.git
  fairlead page ./fleet --listen 127.0.0.1:9000`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	f := addSource(cmd, built)
	f.addStatus(cmd)
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8090", "address to serve on")
	cmd.Flags().DurationVar(&interval, "interval", 10*time.Second, "interval between reads of the status branch")
	flags.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		if interval <= 0 {
			return &usageError{fmt.Errorf("--interval must be more than 0")}
		}
		log, err := newLogger(cmd.ErrOrStderr(), "text", "warn")
		if err != nil {
			return err
		}
		p, err := f.here(cmd.Context(), argv)
		if err != nil {
			return err
		}
		p.settings.Log = log
		branch, err := p.branch(cmd.Context(), f.branch)
		if err != nil {
			return err
		}
		shown, feed, err := p.settings.NewPage(wiring.Page{Hosts: flags.hosts, Forge: flags.forge, Interval: interval}, branch, nil)
		if err != nil {
			return err
		}
		l, err := server.Listen(cmd.Context(), "listen", listen)
		if err != nil {
			return err
		}
		where := redacted(cmp.Or(p.settings.StatusRepository, p.settings.Source))
		if branch != "" {
			where = "branch " + branch + " of " + where
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "shows the status in %s\n", where)
		fmt.Fprintf(cmd.OutOrStdout(), "http://%s/\n", l.Addr())
		return both(cmd.Context(), feed.Run, func(ctx context.Context) error {
			return server.Serve(ctx, l, shown, server.Options{Log: log})
		})
	}
	return cmd
}

// both runs a and b until ctx ends, or one of them does.
func both(ctx context.Context, a, b func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g run.Group
	for _, f := range []func(context.Context) error{a, b} {
		g.Add(func() error { return f(ctx) }, func(error) { cancel() })
	}
	return g.Run()
}
