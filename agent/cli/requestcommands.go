package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
)

const requestLong = `

It is a wish, not an order: a small file that your own Git identity commits to
the status branch, where the agent answers it. The right to push there is the
right to ask. fairlead requests lists what was asked for and the answers.`

// newRequest returns a command that writes a request about what its arguments name.
func newRequest(built wiring.Built, use, short, long, example string, ask func(w *requestCommand, argv []string) error) *cobra.Command {
	w := &requestCommand{}
	cmd := &cobra.Command{
		Use: use, GroupID: groupAsk, Short: short, Long: short + ".\n\n" + long + requestLong, Example: example,
		Args: args(cobra.ExactArgs(strings.Count(use, " "))),
	}
	w.f = addSource(cmd, built)
	w.f.addStatus(cmd)
	w.f.addSigning(cmd)
	switch names := strings.Fields(use)[1:]; {
	case names[len(names)-1] == "MACHINE":
		w.f.complete(machineNames)
	case strings.HasSuffix(use, "|STAGE"):
		w.f.complete(stageOrCluster)
	default:
		w.f.complete(oneCluster(len(names) - 1))
	}
	cmd.Flags().StringVar(&w.reason, "reason", "", "why, for those who read it later")
	w.wait = addWait(cmd, "wait for it to be answered and done")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		w.cmd = cmd
		return ask(w, argv)
	}
	return cmd
}

func newSuspend(built wiring.Built) *cobra.Command {
	var until string
	var during time.Duration
	cmd := newRequest(built, "suspend NAMESPACE/NAME", "Ask for a cluster to be left as it is",
		`The cluster is looked at and reported, and nothing of it is changed, until the
time is over or fairlead resume. Declared: the annotation
fairlead.dev/suspend-until on the Cluster, or spec.paused.`,
		`  fairlead suspend prod/eu-1 --for 2h --reason "storage is being moved"
  fairlead suspend prod/eu-1 --until 2030-01-31T08:00:00Z`,
		func(w *requestCommand, argv []string) error {
			r, err := w.request(fleet.RequestSuspend, argv[0])
			if err != nil {
				return err
			}
			switch {
			case until != "" && during != 0:
				return &usageError{errors.New("give --until or --for, not both")}
			case during != 0:
				r.Until = time.Now().Add(during).UTC().Truncate(time.Second)
			case until != "":
				if r.Until, err = time.Parse(time.RFC3339, until); err != nil {
					return &usageError{fmt.Errorf("--until %q is no time such as 2030-01-31T08:00:00Z", until)}
				}
			}
			return w.ask(r)
		})
	cmd.Flags().StringVar(&until, "until", "", "when it ends by itself, such as 2030-01-31T08:00:00Z")
	cmd.Flags().DurationVar(&during, "for", 0, "how long from now")
	return cmd
}

func newResume(built wiring.Built) *cobra.Command {
	return newRequest(built, "resume NAMESPACE/NAME", "Take back that a cluster is suspended",
		"What Git pauses stays paused: remove it there.",
		`  fairlead resume prod/eu-1`,
		func(w *requestCommand, argv []string) error {
			r, err := w.request(fleet.RequestSuspend, argv[0])
			if err != nil {
				return err
			}
			q, err := w.requests()
			if err != nil {
				return err
			}
			if err := q.Withdraw(w.cmd.Context(), r, w.reason); err != nil {
				if fleet.KindOf(err) == fleet.NotFound {
					return fmt.Errorf("nobody asked for cluster %s to be suspended: where fairlead tree says Paused, Git does", r.Cluster)
				}
				return err
			}
			fmt.Fprintf(w.cmd.OutOrStdout(), "taken back: %s\n", r)
			return nil
		})
}

func newReconcile(built wiring.Built) *cobra.Command {
	return newRequest(built, "reconcile NAMESPACE/NAME", "Ask for a look at a cluster now",
		"The agent looks by itself when something changes, and every few minutes.",
		`  fairlead reconcile prod/eu-1 --wait 1m`,
		func(w *requestCommand, argv []string) error {
			r, err := w.request(fleet.RequestReconcile, argv[0])
			if err != nil {
				return err
			}
			return w.ask(r)
		})
}

func newAbandon(built wiring.Built) *cobra.Command {
	return newRequest(built, "abandon NAMESPACE/NAME", "Ask for a cluster to be forgotten, with nothing of it deleted",
		`For a cluster that vanished from Git, or that is to be deleted and cannot be:
its credentials are gone, its cloud is gone. The answer lists what stays behind.
Declared: the annotation fairlead.dev/delete: abandon on the Cluster.`,
		`  fairlead abandon prod/eu-1 --reason "the region was closed"`,
		func(w *requestCommand, argv []string) error {
			r, err := w.request(fleet.RequestAbandon, argv[0])
			if err != nil {
				return err
			}
			return w.ask(r)
		})
}

func newRotate(built wiring.Built) *cobra.Command {
	return newRequest(built, "rotate WHAT NAMESPACE/NAME", "Ask for certificates of a cluster to be made anew",
		`WHAT is one of: `+rotations()+`.
Certificates are rotated by replacing the machines of the control plane, one
after the other; keys and authorities in stages, each of which does so. The one
of the cluster itself, ca, takes two days and replaces all machines.
Declared: any new value of the annotation fairlead.dev/rotate-WHAT on the Cluster.`,
		`  fairlead rotate certificates prod/eu-1 --wait 30m`,
		func(w *requestCommand, argv []string) error {
			r, err := w.request(fleet.RequestRotate, argv[1])
			if err != nil {
				return err
			}
			if r.What = fleet.Rotation(argv[0]); !slices.Contains(fleet.Rotations(), r.What) {
				return &usageError{fmt.Errorf("%q cannot be rotated: choose one of %s", argv[0], rotations())}
			}
			return w.ask(r)
		})
}

func rotations() string {
	var out []string
	for _, r := range fleet.Rotations() {
		out = append(out, string(r))
	}
	return strings.Join(out, ", ")
}

func newReplace(built wiring.Built) *cobra.Command {
	return newMachineRequest(built, fleet.RequestReplace, "Ask for a machine to be replaced",
		`It goes as if its template had changed: another one first, as far as the pool's
maxSurge allows, then it is drained and deleted. Declared: the annotation
fairlead.dev/replace with its provider id on its KubeadmControlPlane,
MachineDeployment or MachineSet, or on the Machine itself where it stands alone.`,
		`  fairlead replace eu-1-md-0-3f5fbe45 --reason "its disk is slow" --wait 15m`)
}

func newRemediate(built wiring.Built) *cobra.Command {
	return newMachineRequest(built, fleet.RequestRemediate, "Ask for a sick machine to be replaced",
		`It goes as if a health check had found it sick, whatever the limits of health
checks: it first, another one then. A control-plane machine goes where etcd can
spare it. Declared: the annotation fairlead.dev/remediate with its provider id on
its KubeadmControlPlane, MachineDeployment or MachineSet, or on the Machine itself
where it stands alone.`,
		`  fairlead remediate eu-1-md-0-3f5fbe45`)
}

func newMachineRequest(built wiring.Built, kind fleet.RequestKind, short, long, example string) *cobra.Command {
	var id string
	cmd := newRequest(built, string(kind)+" MACHINE", short, long, example, func(w *requestCommand, argv []string) error {
		r := fleet.Request{Kind: kind, Machine: fleet.MachineName(argv[0]), ProviderID: fleet.ProviderID(id)}
		if err := w.find(&r); err != nil {
			return err
		}
		return w.ask(r)
	})
	cmd.Flags().StringVar(&id, "provider-id", "", "which machine, where two have the name")
	return cmd
}
