package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/files"
	"fairlead.dev/sources/status"
)

// A moveCommand is what bootstrap and pivot share.
type moveCommand struct {
	program Program
	local   bool // an agent in this process owns the fleet at first
	loaded  fleet.Fleet
	f       *sourceFlags

	name, takeOver, into string
	dryRun, undo, keep   bool
	home                 homeFlags
	recovery             recoveryFlags
	interval             time.Duration
	logFormat, logLevel  string
	logFile              string
}

func (m *moveCommand) add(cmd *cobra.Command) {
	m.f = addSource(cmd, m.program.Built)
	m.f.addStatus(cmd)
	m.f.addSecrets(cmd)
	m.f.addSigning(cmd)
	m.f.addProviders(cmd)
	fs := cmd.Flags()
	fs.BoolVar(&m.dryRun, "dry-run", false, "show completed and remaining steps and change nothing")
	fs.BoolVar(&m.undo, "undo", false, "revert the steps, until the hand-over of the fleet")
	fs.BoolVar(&m.keep, "keep", false, "keep the secrets, and an agent in a cluster, at the old location")
	confirms(cmd, "undo")
	settings(cmd, "dry-run", "keep")
	fs.DurationVar(&m.interval, "interval", 2*time.Second, "interval between polls of the agent in this process")
	fs.StringVar(&m.logFormat, "log-format", "text", "log format: text or json")
	fs.StringVar(&m.logLevel, "log-level", "warn", "log level of the agent in this process: debug, info, warn or error")
	fs.StringVar(&m.logFile, "log-file", "", "file for the log of the agent in this process (default: standard error)")
}

// prepare opens what every move needs.
func (m *moveCommand) prepare(cmd *cobra.Command) (wiring.Settings, *pivot.Parts, pivot.Destination, func(), error) {
	fail := func(err error) (wiring.Settings, *pivot.Parts, pivot.Destination, func(), error) {
		return wiring.Settings{}, nil, pivot.Destination{}, nil, err
	}
	if m.f.settings.Source == "" || wiring.IsFolder(m.f.settings.Source) {
		return fail(&usageError{errors.New("--source must be a repository URL: another cluster cannot read a folder of this computer")})
	}
	w := pivot.Destination{SkipCleanup: m.keep, Self: m.name}
	if m.takeOver != "" {
		var err error
		if w.TakeOver, err = ownership.ParseOwner(m.takeOver); err != nil {
			return fail(&usageError{fmt.Errorf("--take-over: %w", err)})
		}
	}
	out := cmd.ErrOrStderr()
	closeLog := func() {}
	if m.logFile != "" {
		file, err := os.OpenFile(m.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fail(fmt.Errorf("cannot write the log: %w", err))
		}
		out, closeLog = file, func() { _ = file.Close() }
	}
	log, err := newLogger(out, m.logFormat, m.logLevel)
	if err != nil {
		return fail(err)
	}
	s := m.f.from(nil, log)
	s.StatusInterval = m.interval
	branch, loaded, clusters, err := m.branch(cmd.Context(), s)
	if err != nil {
		return fail(err)
	}
	m.loaded = loaded
	store, err := s.OpenSecrets(cmd.Context(), modeOf(m.local))
	if err != nil {
		return fail(err)
	}
	arbiter := status.NewArbiter(branch)
	keys, err := s.StatusKeys()
	if err != nil {
		return fail(err)
	}
	arbiter.Sign, arbiter.Verify = keys.Sign, keys.Verify
	p := &pivot.Parts{
		Arbiter: arbiter, From: secrets.OfFleet(store, loaded.ID), Clusters: clusters, ID: rand.Text,
		Status: func(ctx context.Context) (status.Status, error) {
			_, tree, err := branch.Read(ctx)
			if err != nil {
				return status.Status{}, err
			}
			return status.Read(tree)
		},
		Show: (&stepScreen{out: cmd.OutOrStdout()}).show,
	}
	return s, p, w, func() {
		if c, ok := store.(io.Closer); ok {
			_ = c.Close()
		}
		closeLog()
	}, nil
}

// toHome moves the fleet into cluster k.
func (m *moveCommand) toHome(cmd *cobra.Command, k fleet.Key) error {
	s, p, w, end, err := m.prepare(cmd)
	if err != nil {
		return err
	}
	defer end()
	w.To, w.Home = ownership.AgentOf(k), k
	if declared := m.loaded.Config.Home; declared.Declared() && declared.Cluster != k && !m.undo {
		return fmt.Errorf("fleet.yaml: spec.home.cluster: the fleet would move on to %s, its home: name %s there, or remove spec.home, and push that first", declared.Cluster, k)
	}
	if err := m.recover(cmd, s, p, w); err != nil {
		return err
	}
	file := kubeconfigFile(cmp.Or(m.home.kubeconfig, k.Name+".kubeconfig"))
	p.Kubeconfig = file
	client, err := m.home.homeClient(m.program.Version, s, m.loaded.ID, k, file, p.From, m.f.branch)
	if err != nil {
		return err
	}
	p.Home = client.Open
	owner, err := p.Arbiter.Owner(cmd.Context())
	if err != nil {
		return err
	}
	if old, ok := ownership.HomeOf(owner.Agent); ok && old != k && !owner.Is(w.TakeOver) {
		if !strings.HasPrefix(s.Secrets, "kubernetes:") {
			return fmt.Errorf("the fleet is owned by the agent in cluster %s: set --secrets kubernetes:FILE with its kubeconfig", old)
		}
	}
	// The old home may still have its agent, even if another agent owns the fleet now.
	if strings.HasPrefix(s.Secrets, "kubernetes:") {
		if p.Old, err = m.home.old(s, m.loaded.ID); err != nil {
			return err
		}
	}
	return m.do(cmd, s, pivot.New(w, *p), w, agent.Options{Only: k, Recreate: m.recreateRequest()}, owner)
}

// recreateRequest is the request to create the home again, where people say that it is
// gone. A repeated command makes the same request.
func (m *moveCommand) recreateRequest() string {
	if m.recovery.identity == "" {
		return ""
	}
	return "gone: " + cmp.Or(m.takeOver, m.name)
}

// toHere moves the fleet to an agent in this process.
func (m *moveCommand) toHere(cmd *cobra.Command, exit bool) error {
	s, p, w, end, err := m.prepare(cmd)
	if err != nil {
		return err
	}
	defer end()
	w.To, w.SkipCleanup = m.name, true // nothing is removed from a home that may be damaged
	s.Secrets = m.into
	into, err := s.OpenSecrets(cmd.Context(), modeOf(!m.dryRun))
	if err != nil {
		return err
	}
	if c, ok := into.(io.Closer); ok {
		defer c.Close()
	}
	p.To = secrets.OfFleet(into, m.loaded.ID)
	owner, err := p.Arbiter.Owner(cmd.Context())
	if err != nil {
		return err
	}
	m.local = true
	return m.runHere(cmd, s, pivot.New(w, *p), exit, w, owner)
}

// do makes the move. Where this process has to own the fleet at first, an agent runs beside
// the move.
func (m *moveCommand) do(cmd *cobra.Command, s wiring.Settings, p *pivot.Pivot, w pivot.Destination, o agent.Options, owner fleet.Owner) error {
	ctx := cmd.Context()
	switch {
	case m.dryRun:
		return showSteps(ctx, cmd.OutOrStdout(), p)
	case m.undo:
		return p.Undo(ctx)
	case !m.local || w.Arrived(owner):
		return p.Run(ctx)
	case owner.Agent != "" && owner.Agent != m.name && !owner.Is(w.TakeOver):
		return fmt.Errorf("the fleet is owned by agent %q (epoch %d), this is %q: use `fairlead pivot`, or --take-over %s@%d where that agent is gone",
			owner.Agent, owner.Epoch, m.name, owner.Agent, owner.Epoch)
	}
	o.WaitForOwnership = owner.Is(w.TakeOver) && owner.Agent != ""
	return m.withAgent(ctx, s, o, func(ctx context.Context, _ <-chan struct{}) error { return p.Run(ctx) })
}

// runHere moves the fleet here, and goes on as its agent.
func (m *moveCommand) runHere(cmd *cobra.Command, s wiring.Settings, p *pivot.Pivot, exit bool, _ pivot.Destination, _ fleet.Owner) error {
	ctx := cmd.Context()
	switch {
	case m.dryRun:
		return showSteps(ctx, cmd.OutOrStdout(), p)
	case m.undo:
		return p.Undo(ctx)
	}
	return m.withAgent(ctx, s, agent.Options{WaitForOwnership: true}, func(ctx context.Context, ended <-chan struct{}) error {
		if err := p.Run(ctx); err != nil || exit {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "agent %s owns the fleet and goes on here until it is stopped\n", m.name)
		select {
		case <-ctx.Done():
		case <-ended:
			fmt.Fprintf(cmd.OutOrStdout(), "agent %s has handed the fleet over, and ends\n", m.name)
		}
		return nil
	})
}

// withAgent runs do beside an agent in this process, and closes ended when the agent ends.
// The end of the agent is an error, unless it handed the fleet over.
func (m *moveCommand) withAgent(ctx context.Context, s wiring.Settings, o agent.Options, do func(ctx context.Context, ended <-chan struct{}) error) error {
	o.Name, o.Interval, o.Resync, o.Workers, o.StatusBranch = m.name, m.interval, time.Minute, 8, m.f.branch
	a, err := wiring.Start(ctx, s, wiring.ProcessOptions{Version: m.program.Version, Agent: o})
	if err != nil {
		return err
	}
	defer a.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := a.Run(ctx)
		if err != nil && !handedOver(err) {
			cancel(err)
		}
	}()
	err = do(ctx, done)
	cancel(nil)
	<-done
	return err
}

// handedOver reports whether an agent that ended with err handed the fleet over. It did not if
// another process of it began.
func handedOver(err error) bool {
	lost, ok := errors.AsType[*ownership.NotOwnerError](err)
	return ok && !lost.OtherProcess()
}

// kubeconfigFile is the file for the kubeconfig of the home.
type kubeconfigFile string

// Written implements pivot.Kubeconfig.
func (f kubeconfigFile) Written(want fleet.Secret) bool {
	b, err := os.ReadFile(string(f))
	return err == nil && bytes.Equal(b, want.Reveal())
}

// Write implements pivot.Kubeconfig.
func (f kubeconfigFile) Write(s fleet.Secret) error {
	return files.ReplaceFile(string(f), s.Reveal(), 0o600)
}

// union returns the keys of all lists, sorted and without duplicates.
func union(lists ...[]fleet.Key) []fleet.Key {
	all := slices.Concat(lists...)
	slices.SortFunc(all, fleet.Key.Compare)
	return slices.Compact(all)
}
