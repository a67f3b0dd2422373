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

The command commits a request file to the status branch with your Git identity. The
agent reads it and records the result, which 'fairlead requests' lists. Anyone with push
access to the status branch can make requests.`

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
	cmd.Flags().StringVar(&w.reason, "reason", "", "reason, recorded with the request")
	w.wait = addWait(cmd, "wait until the request is completed")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		w.cmd = cmd
		return ask(w, argv)
	}
	return cmd
}

func newSuspend(built wiring.Built) *cobra.Command {
	var until string
	var during time.Duration
	cmd := newRequest(built, "suspend NAMESPACE/NAME", "Suspend reconciliation of a cluster",
		`The agent observes and reports the cluster and changes nothing, until the end that --for
or --until sets, or 'fairlead resume'. Without them it has no end. In Git: the annotation
fairlead.dev/suspend-until on the Cluster, or spec.paused.`,
		`  fairlead suspend prod/eu-1 --for 2h --reason "storage is being moved"
  fairlead suspend prod/eu-1 --until 2030-01-31T08:00:00Z`,
		func(w *requestCommand, argv []string) error {
			var end time.Time
			switch {
			case until != "" && during != 0:
				return &usageError{errors.New("--until and --for are both set: use one of them")}
			case during != 0:
				end = time.Now().Add(during).UTC().Truncate(time.Second)
			case until != "":
				var err error
				if end, err = time.Parse(time.RFC3339, until); err != nil {
					return &usageError{fmt.Errorf("invalid --until %q: must be like 2030-01-31T08:00:00Z", until)}
				}
			}
			r, err := w.request(fleet.RequestSuspend, argv[0])
			if err != nil {
				return err
			}
			r.Until = end
			return w.ask(r)
		})
	cmd.Flags().StringVar(&until, "until", "", "end of the suspension, such as 2030-01-31T08:00:00Z")
	cmd.Flags().DurationVar(&during, "for", 0, "length of the suspension")
	return cmd
}

func newResume(built wiring.Built) *cobra.Command {
	return newRequest(built, "resume NAMESPACE/NAME", "Resume reconciliation of a cluster",
		"A cluster that is paused in Git stays paused until you change it in Git.",
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
					return fmt.Errorf("cluster %s has no request to suspend it. If fairlead tree shows Paused, it is paused in Git", r.Cluster)
				}
				return err
			}
			fmt.Fprintf(w.cmd.OutOrStdout(), "withdrawn: %s\n", r)
			return nil
		})
}

func newReconcile(built wiring.Built) *cobra.Command {
	return newRequest(built, "reconcile NAMESPACE/NAME", "Reconcile a cluster now",
		"The agent also reconciles a cluster when it changes, and every few minutes.",
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
	return newRequest(built, "abandon NAMESPACE/NAME", "Stop managing a cluster without deleting it",
		`Use it for a cluster that was removed from Git, or that cannot be deleted because its
credentials or its cloud are gone. The result lists what remains. In Git: the annotation
fairlead.dev/delete: abandon on the Cluster.`,
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
	return newRequest(built, "rotate WHAT NAMESPACE/NAME", "Rotate certificates or keys of a cluster",
		`WHAT is one of: `+rotations()+`.
The agent replaces the machines of the control plane one by one: once for certificates,
three times for service-account and etcd-ca. The rotation of ca takes two days, and
replaces workers, too. In Git: a new value of the annotation fairlead.dev/rotate-WHAT on
the Cluster.`,
		`  fairlead rotate certificates prod/eu-1 --wait 30m`,
		func(w *requestCommand, argv []string) error {
			what := fleet.Rotation(argv[0])
			if !slices.Contains(fleet.Rotations(), what) {
				return &usageError{fmt.Errorf("invalid WHAT %q: must be one of %s", argv[0], rotations())}
			}
			r, err := w.request(fleet.RequestRotate, argv[1])
			if err != nil {
				return err
			}
			r.What = what
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
	return newMachineRequest(built, fleet.RequestReplace, "Replace a machine, creating its successor first",
		`The agent replaces the machine as if its template had changed: it creates a new one,
within maxSurge of the pool, then drains and deletes the old one. In Git: the annotation
fairlead.dev/replace with its provider ID on its KubeadmControlPlane, MachineDeployment
or MachineSet, or on a standalone Machine.`,
		`  fairlead replace eu-1-md-0-3f5fbe45 --reason "its disk is slow" --wait 15m`)
}

func newRemediate(built wiring.Built) *cobra.Command {
	return newMachineRequest(built, fleet.RequestRemediate, "Replace an unhealthy machine, deleting it first",
		`The agent replaces the machine as if a health check had reported it, without the limits
of health checks. A control-plane machine is deleted if etcd keeps its quorum without it.
In Git: the annotation fairlead.dev/remediate with its provider ID on its
KubeadmControlPlane, MachineDeployment or MachineSet, or on a standalone Machine.`,
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
	cmd.Flags().StringVar(&id, "provider-id", "", "provider ID of the machine, if two machines have the name")
	return cmd
}
