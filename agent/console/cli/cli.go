// Package cli is the command line of fairlead. Each command is one file; this
// one is the list of them.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
)

// Streams are what a command reads from and writes to.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Self is the file of this program. It is started again to build overlays in processes
	// with limits. Empty: overlays are built in this process.
	Self string
}

// A Program is a build of fairlead: its version, and what it was built with.
type Program struct {
	Version string
	wiring.Built
}

// Main runs one command line of p and returns the exit code of the process.
func Main(p Program, args []string, s Streams) int {
	if len(args) > 0 && args[0] == renderWorker {
		return serveRenders(args[1:], s)
	}
	ctx, stop := interruptible(context.Background())
	defer stop()
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // client-go's logger: what matters is in its errors
	if _, err := p.Registry(); err != nil {           // providers name some of the flags
		fmt.Fprintln(s.Err, "fairlead: "+err.Error())
		return exitFailure
	}
	cmd := New(p, s)
	cmd.SetArgs(joinWait(args))
	ran, err := cmd.ExecuteContextC(ctx)
	if err == nil {
		err = unknownBelow(ran)
	}
	if text := message(ran, err); text != "" {
		fmt.Fprintln(s.Err, "fairlead: "+fleet.PlainLines(text))
	}
	return exitCode(err)
}

// interruptible returns a context that ends with the first signal. The second signal ends
// the process.
func interruptible(ctx context.Context) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// New returns the root command of p with all others below it.
func New(p Program, s Streams) *cobra.Command {
	version, built := p.Version, p.Built
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Manage Kubernetes clusters from a Git repository",
		Long: `Manage Kubernetes clusters from a Git repository.

Fairlead is an agent and a command line for Cluster API manifests in Git. The agent
creates, scales, upgrades, repairs and deletes the clusters, and commits their status
to a branch of the same repository. It needs no management cluster.

  fairlead demo                    try it in a minute
  fairlead init                    create a fleet
  fairlead validate                validate its manifests
  fairlead plan                    show what the agent would change
  fairlead agent --source ./fleet  run the agent`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: prepare,
		Args:              args(cobra.NoArgs),
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Version = version
	root.SetVersionTemplate("fairlead {{.Version}}\n")
	root.Annotations = map[string]string{selfAnnotation: s.Self}
	root.SetIn(s.In)
	root.SetOut(output.Plain(s.Out))
	root.SetErr(output.Plain(s.Err))
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: groupWrite, Title: "Create and validate:"},
		&cobra.Group{ID: groupLook, Title: "Inspect:"},
		&cobra.Group{ID: groupAsk, Title: "Request changes from the agent (by commits to the status branch):"},
		&cobra.Group{ID: groupRun, Title: "Run and move the agent:"},
		&cobra.Group{ID: groupSecrets, Title: "Secrets:"},
	)
	root.AddCommand(
		newAgent(p),
		newBootstrap(p),
		newPivot(p),
		newDemo(p),
		newInMemory(),
		newInit(built),
		newGenerate(built),
		newCheck(built),
		newValidate(built),
		newExplain(built),
		newRender(built),
		newPlan(built),
		newStatus(built),
		newTree(built),
		newTop(built),
		newDescribe(built),
		newHistory(built),
		newDiff(built),
		newRollback(built),
		newPage(built),
		newHosts(built),
		newKubeconfig(built),
		newSuspend(built),
		newResume(built),
		newReconcile(built),
		newReplace(built),
		newRemediate(built),
		newRotate(built),
		newScale(built),
		newRelease(built),
		newAbandon(built),
		newApprove(built),
		newRequests(built),
		newSecrets(built),
		newOrphans(built),
		newAdopt(built),
		newContext(built),
		newOptions(built),
		newVersion(version),
		newExitCodes(),
	)
	addContexts(root)
	root.SetUsageFunc(usage)
	helpOnCommands(root)
	return root
}

// The groups of commands in the help.
const (
	groupRun     = "run"
	groupLook    = "look"
	groupWrite   = "write"
	groupAsk     = "ask"
	groupSecrets = "secrets"
)

// The exit codes of fairlead; `fairlead help exit-codes` explains them.
const (
	exitOK       = 0
	exitFailure  = 1
	exitChanges  = 2
	exitNotOwner = 3
	exitRefused  = 4
	exitLate     = 5
	exitUsage    = 64
)

// An exitError ends the process with a code, without a message: the command has already
// printed what there is to say.
type exitError struct{ code int }

// Error implements error.
func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// A usageError is a command line that cannot be understood.
type usageError struct{ err error }

// Error implements error.
func (e *usageError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *usageError) Unwrap() error { return e.err }

func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if e, ok := errors.AsType[*waitError](err); ok {
		return e.code
	}
	if _, ok := errors.AsType[*ownership.NotOwnerError](err); ok {
		return exitNotOwner
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	return exitFailure
}

// message returns what a person reads of err, with which the command cmd ended.
func message(cmd *cobra.Command, err error) string {
	if err == nil {
		return ""
	}
	if _, ok := errors.AsType[*exitError](err); ok {
		return ""
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return err.Error() + "\nSee '" + cmd.CommandPath() + " --help' for usage."
	}
	return err.Error()
}

func newExitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "List of exit codes",
		Long: `Exit codes of fairlead:

    0  success; validate: no problems; plan: no changes
    1  error; validate: problems found; check: a check failed; plan: the
       revision has problems, or something could not be observed
    2  plan: changes found; orphans: orphans found
    3  agent: another agent owns the fleet
    4  status --wait: the newest revision is rejected, or that of a cluster
    5  status --wait: timeout
   64  usage error
  134  crash of the program, out of memory or by a bug: it ended with SIGABRT,
       and standard error has the reason`,
	}
}
