package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/sources/status"
)

// completionTimeout bounds how long a shell waits for names.
const completionTimeout = 3 * time.Second

// A completer returns what may stand at the place of an argument, after those in argv.
type completer func(s status.Status, argv []string) []cobra.Completion

// complete has the shell complete arguments of f's command by the status branch. Where that
// cannot be read in time there is nothing to choose from.
func (f *sourceFlags) complete(of completer) {
	f.cmd.ValidArgsFunction = func(cmd *cobra.Command, argv []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		s, err := f.known(cmd, argv)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return of(s, argv), cobra.ShellCompDirectiveNoFileComp
	}
}

// known returns what the status branch says.
func (f *sourceFlags) known(cmd *cobra.Command, argv []string) (status.Status, error) {
	if err := fill(cmd, argv); err != nil {
		return status.Status{}, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	p, err := f.here(ctx, nil)
	if err != nil {
		return status.Status{}, err
	}
	branch, err := p.branch(ctx, f.branch)
	if err != nil {
		return status.Status{}, err
	}
	return p.status(ctx, branch)
}

// clusterNames completes names of clusters, as many as one likes.
func clusterNames(s status.Status, _ []string) []cobra.Completion {
	var names []cobra.Completion
	for _, c := range s.Clusters {
		names = append(names, cobra.CompletionWithDesc(c.Report.Cluster.String(), string(c.Report.Phase)))
	}
	return names
}

// oneCluster completes the name of one cluster, behind n other arguments.
func oneCluster(n int) completer {
	return func(s status.Status, argv []string) []cobra.Completion {
		if len(argv) != n {
			return nil
		}
		return clusterNames(s, argv)
	}
}

// stageOrCluster completes the name of a stage with something to release, or of a cluster that
// waits or is being changed.
func stageOrCluster(s status.Status, argv []string) []cobra.Completion {
	if len(argv) > 0 {
		return nil
	}
	var names []cobra.Completion
	for _, st := range s.Fleet.Rollout.Stages {
		if st.Waiting+st.Changing > 0 {
			names = append(names, cobra.CompletionWithDesc(st.Name, string(st.State)))
		}
	}
	for _, w := range s.Fleet.Rollout.Waiting {
		names = append(names, cobra.CompletionWithDesc(w.Cluster.String(), w.String()))
	}
	for _, st := range s.Fleet.Rollout.Standings {
		if _, waits := s.Fleet.Rollout.Wait(st.Cluster); !waits && st.Arrived != "" && (st.Arrived != st.Digest || st.At.Before(st.Since)) {
			names = append(names, cobra.CompletionWithDesc(st.Cluster.String(), "is being changed"))
		}
	}
	for _, d := range s.Fleet.Rollout.Departed {
		names = append(names, cobra.CompletionWithDesc(d.Cluster.String(), "left stage "+d.Stage))
	}
	return names
}

// machineNames completes the name of one machine.
func machineNames(s status.Status, argv []string) []cobra.Completion {
	if len(argv) > 0 {
		return nil
	}
	var names []cobra.Completion
	for _, c := range s.Clusters {
		for _, m := range c.Report.Machines {
			names = append(names, cobra.CompletionWithDesc(string(m.Machine.Name), c.Report.Cluster.String()+" "+string(m.Phase)))
		}
	}
	return names
}

// clusterAndPool completes the name of a cluster, and then that of one of its pools.
func clusterAndPool(s status.Status, argv []string) []cobra.Completion {
	switch len(argv) {
	case 0:
		return clusterNames(s, argv)
	case 1:
		var names []cobra.Completion
		for _, c := range s.Clusters {
			for _, p := range c.Report.Pools {
				if named(argv[0], c.Report.Cluster) {
					names = append(names, cobra.CompletionWithDesc(string(p.Name), string(p.Role)))
				}
			}
		}
		return names
	}
	return nil
}
