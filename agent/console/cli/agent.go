package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"fairlead.dev/agent"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/wiring"
)

const agentCommand = "agent"

func newAgent(p Program) *cobra.Command {
	var flags agentFlags
	cmd := &cobra.Command{
		Use:     agentCommand,
		GroupID: groupRun,
		Short:   "Run the agent",
		Long: `Run the agent. It polls the repository, renders changes, creates, changes and deletes
machines until the clusters match Git, and commits their status to the status branch.
The first agent of a fleet becomes its owner, in owner.yaml on the status branch. An agent
of another name, or of the same name with another secret store, exits with code 3, or
waits with --wait-for-ownership.

Every flag can be set with an environment variable (--ssh-key: FAIRLEAD_SSH_KEY), except
flags that confirm a dangerous action, such as --take-over. --listen serves /metrics,
/healthz and /readyz. See also docs/guides: webhooks.md, autoscaler.md and page.md.`,
		Example: `  fairlead agent --source https://git.example.com/fleet.git --token-file token
  fairlead agent --source ./fleet
  fairlead agent --source git@git.example.com:fleet.git --ssh-key id_ed25519 \
    --known-hosts known_hosts`,
		Args:        args(cobra.NoArgs),
		Annotations: map[string]string{grouped: "true"},
	}
	f := addSource(cmd, p.Built)
	f.addRender(cmd)
	f.settings.RenderCache = "" // the disk of an agent is not looked after
	cmd.Flags().Lookup("render-cache").Usage = "folder that keeps built overlays for the next start, but no Secrets and nothing that was encrypted. Its size is that of all changes of five days, about 8 KiB for a small overlay (default: none)"
	f.addStatus(cmd)
	f.addSecrets(cmd)
	f.addSigning(cmd)
	f.addProviders(cmd)
	f.addForge(cmd)
	flags.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.settings.Source == "" {
			return &usageError{fmt.Errorf("missing --source: set a repository or folder with --source or FAIRLEAD_SOURCE")}
		}
		if err := flags.check(f.settings); err != nil {
			return err
		}
		flags.memory.asked = cmd.Flags().Changed(serveInMemory)
		log, err := newLogger(cmd.ErrOrStderr(), flags.logFormat, flags.logLevel)
		if err != nil {
			return err
		}
		klog.SetSlogLogger(log) // client-go's logger: there is one in a process
		for flag, value := range map[string]string{"--source": f.settings.Source, "--status-repository": f.settings.StatusRepository} {
			if redacted(value) != value {
				log.Warn("password in a flag is visible in the process list: use --token-file or --credentials", "flag", flag)
			}
		}
		s := f.from(nil, log)
		s.StatusInterval, s.ChartVersion, s.NotificationCredentials = flags.statusInterval, p.Version, flags.notifications
		flags.options.StatusBranch, s.StatusBranch = f.branch, f.branch
		return flags.run(cmd.Context(), p.Version, s)
	}
	return cmd
}

// agentFlags are the flags that only agent has.
type agentFlags struct {
	options             agent.Options
	takeOver            string
	statusInterval      time.Duration
	listen              string
	hungAfter           time.Duration
	profiling           bool
	memory              inMemoryFlags
	pagesFor            listenFlags
	logFormat, logLevel string
	hooks               webhookFlags
	traces              tracingFlags
	replicas            replicaFlags
	scale               autoscalerFlags
	notifications       string
	page                pageFlags
	pageListen          string
}

func (f *agentFlags) add(cmd *cobra.Command) {
	fs, o := cmd.Flags(), &f.options
	hostname, _ := os.Hostname() // without a host name people have to give --name
	fs.StringVar(&o.Name, "name", hostname, "name of this agent, in owner.yaml")
	// The default is the host name, which generated documentation cannot know.
	fs.Lookup("name").DefValue = "the host name"
	fs.DurationVar(&o.Interval, "interval", 30*time.Second, "interval between polls of the source")
	fs.DurationVar(&o.Resync, "resync", 10*time.Minute, "interval between reconciliations of a cluster without changes")
	fs.IntVar(&o.Workers, "workers", 16, "number of clusters to reconcile in parallel")
	fs.BoolVar(&o.WaitForOwnership, "wait-for-ownership", false, "wait if another agent owns the fleet")
	fs.DurationVar(&f.statusInterval, "status-interval", 10*time.Second, "interval between commits of status; changes of phases are committed immediately")
	fs.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address of metrics and health endpoints; empty disables them")
	fs.DurationVar(&f.hungAfter, "hung-after", 30*time.Minute, "time limit for a poll or a render (twice that for a reconciliation) before /healthz fails. 0 disables the check")
	fs.BoolVar(&f.profiling, "pprof", false, "serve /debug/pprof on --listen")
	fs.StringVar(&f.logFormat, "log-format", "text", "log format: text or json")
	fs.StringVar(&f.logLevel, "log-level", "info", "log level: debug, info, warn or error")
	fs.StringVar(&f.takeOver, "take-over", "", "owner to replace, AGENT@EPOCH as fairlead status shows it. Make sure that it does not run")
	confirms(cmd, "take-over")
	fs.StringVar(&f.notifications, "notification-credentials", "", "folder with a folder per target in spec.notifications of fleet.yaml, with the files address, token, signingKey, username, password, from, ca.crt")
	settings(cmd, "wait-for-ownership", "pprof")
	f.memory.add(cmd)
	needs(cmd, "listen", "pprof", serveInMemory)
	f.pagesFor.add(cmd)
	f.hooks.add(cmd)
	f.traces.add(cmd)
	f.replicas.add(cmd)
	f.scale.add(cmd)
	fs.StringVar(&f.pageListen, "page-listen", "", "address of the web page, such as :8090, behind an authenticating proxy; empty disables it")
	f.page.add(cmd)
	needs(cmd, "page-listen", "page-host", "page-forge")
}

// minHungAfter is longer than any request to a server may take.
const minHungAfter = 10 * time.Minute

// check refuses combinations of flags that make no sense, and completes settings from
// others.
func (f *agentFlags) check(s wiring.Settings) error {
	o := &f.options
	if o.Name == "" {
		return &usageError{fmt.Errorf("missing --name: this computer has no host name")}
	}
	if f.hungAfter != 0 && f.hungAfter < minHungAfter {
		return &usageError{fmt.Errorf("invalid --hung-after %s: must be at least %s, the time of a slow server, or 0 to disable the check", f.hungAfter, minHungAfter)}
	}
	if o.Interval <= 0 || o.Resync <= 0 || o.Workers <= 0 {
		return &usageError{fmt.Errorf("--interval, --resync and --workers must be more than 0")}
	}
	if err := f.replicas.check(s); err != nil {
		return err
	}
	if err := f.scale.check(); err != nil {
		return err
	}
	if err := f.pagesFor.check(f.listen); err != nil {
		return err
	}
	if f.takeOver == "" {
		return nil
	}
	gone, err := ownership.ParseOwner(f.takeOver)
	if err != nil {
		return &usageError{fmt.Errorf("--take-over: %w", err)}
	}
	o.TakeOver = gone
	return nil
}

// run runs an agent and its HTTP server until ctx ends.
func (f *agentFlags) run(ctx context.Context, version string, s wiring.Settings) error {
	flush, err := f.traces.open(ctx, version, f.options.Name, &s)
	if err != nil {
		return err
	}
	defer flush()
	hooks, err := f.hooks.webhooks(s.Log)
	if err != nil {
		return err
	}
	pages := f.pagesFor.pages(f.listen, f.profiling)
	if pages.Address != "" {
		if pages.InMemory, err = f.memory.served(s, f.listen); err != nil {
			return err
		}
		pages.OpenInMemory = pages.InMemory && f.memory.asked
	}
	p, err := wiring.Start(ctx, s, wiring.ProcessOptions{
		Version: version, Agent: f.options, HungAfter: f.hungAfter,
		Replicas: f.replicas.Replicas, Autoscaler: f.scale.Autoscaler, Pages: pages, Webhooks: hooks,
		Page: wiring.Page{Address: f.pageListen, Hosts: f.page.hosts, Forge: f.page.forge},
	})
	if err != nil {
		return err
	}
	defer p.Close()
	s.Log.Info("starting", "version", version, "source", redacted(s.Source), "name", f.options.Name)
	err = p.Run(ctx)
	if err == nil {
		s.Log.Info("ended")
	}
	return err
}
