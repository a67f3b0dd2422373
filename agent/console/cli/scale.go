package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/status"
)

func newScale(built wiring.Built) *cobra.Command {
	var remove []string
	w := &requestCommand{}
	cmd := &cobra.Command{
		Use: "scale NAMESPACE/NAME POOL REPLICAS", GroupID: groupAsk, Short: "Set the number of machines of an autoscaled pool",
		Long: `Set the number of machines of a pool that has the annotations of cluster-autoscaler, or
cluster.x-k8s.io/replicas-managed-by. The command commits a file below scales/ to the
status branch. The agent applies it within the limits in Git. Set --signing-key if the
agent has --request-keys. See docs/guides/clusters/autoscaler.md.`,
		Example: `  fairlead scale prod/eu-1 eu-1-md-0 5 --reason "a sale begins"
  fairlead scale prod/eu-1 eu-1-md-0 4 --remove openstack:///8a2f6c1e-0d3b-4b7e-9a53-1f0f6f1c2d3e`,
		Args: args(cobra.ExactArgs(3)),
	}
	w.f = addSource(cmd, built)
	w.f.addStatus(cmd)
	w.f.addSigning(cmd)
	w.f.complete(clusterAndPool)
	cmd.Flags().StringVar(&w.reason, "reason", "", "reason, recorded with the request")
	cmd.Flags().StringArrayVar(&remove, "remove", nil, "provider ID of a machine to delete first; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		w.cmd = cmd
		s, err := w.scale(argv, remove)
		if err != nil {
			return err
		}
		q, err := w.scales(&s, argv[0])
		if err != nil {
			return err
		}
		if err := q.Set(cmd.Context(), s); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "scaled: %s\n", s)
		return nil
	}
	return cmd
}

// scale parses the arguments but for the name of the cluster.
func (w *requestCommand) scale(argv, remove []string) (fleet.Scale, error) {
	n, err := strconv.Atoi(argv[2])
	if err != nil || n < 0 || n > fleet.MaxReplicas {
		return fleet.Scale{}, &usageError{fmt.Errorf("invalid REPLICAS %q: must be from 0 to %d", argv[2], fleet.MaxReplicas)}
	}
	by, err := git.ByHand(w.cmd.Context())
	if err != nil {
		return fleet.Scale{}, err
	}
	s := fleet.Scale{
		Pool: fleet.PoolName(argv[1]), Replicas: n, At: time.Now().UTC().Truncate(time.Second),
		Reason: fleet.Request{By: fmt.Sprintf("%s <%s>", by.Name, by.Email), Reason: w.reason}.Why(),
	}
	for _, id := range remove {
		s.Remove = append(s.Remove, fleet.ProviderID(id))
	}
	slices.Sort(s.Remove)
	return s, nil
}

// scales opens the numbers of machines on the status branch for a person. It fails where no
// agent reads them, or where the pool does not exist. It completes s with the cluster called name.
func (w *requestCommand) scales(s *fleet.Scale, name string) (*status.Scales, error) {
	p, branch, err := w.selection()
	if err != nil {
		return nil, err
	}
	if err := p.checkFollowed(w.cmd.Context(), branch); err != nil {
		return nil, fmt.Errorf("cannot %s: %w", w.cmd.Name(), err)
	}
	now, err := p.settings.ReadStatus(w.cmd.Context(), branch)
	if err != nil {
		return nil, err
	}
	if s.Cluster, err = find(now, name); err != nil {
		return nil, err
	}
	if err := hasPool(now, *s); err != nil {
		return nil, err
	}
	if err := p.checkScaled(w.cmd.Context(), *s); err != nil {
		return nil, err
	}
	if now.Signed && p.settings.SigningKey == "" {
		return nil, errors.New("the agents of this fleet accept only signed requests: set --signing-key")
	}
	if p.settings.Author, err = git.ByHand(w.cmd.Context()); err != nil {
		return nil, err
	}
	b, err := p.settings.OpenBranch(branch)
	if err != nil {
		return nil, err
	}
	q := status.NewScales(b)
	if q.Verify, err = p.settings.Verifier(); err != nil {
		return nil, err
	}
	q.Sign, err = p.settings.Signer()
	return q, err
}

// hasPool returns an error where the status has no such pool.
func hasPool(now status.Status, s fleet.Scale) error {
	if err := now.DamageOf(s.Cluster); err != nil {
		return err
	}
	c, ok := now.Cluster(s.Cluster)
	if !ok {
		return fmt.Errorf("cluster %q not found", s.Cluster)
	}
	var names []string
	for _, p := range c.Report.Pools {
		if p.Kept() {
			if p.Name == s.Pool {
				return fmt.Errorf("cannot scale pool %s of cluster %s: it is a MachinePool, whose machines the cloud manages. Set its spec.replicas in Git", s.Pool, s.Cluster)
			}
			continue
		}
		if p.Role == fleet.RoleWorker {
			names = append(names, string(p.Name))
		}
	}
	if slices.Contains(names, string(s.Pool)) {
		return nil
	}
	if len(names) == 0 {
		return fmt.Errorf("cluster %s has no pool %s, and no other pool of workers", s.Cluster, s.Pool)
	}
	return fmt.Errorf("cluster %s has no pool %s of workers: it has %s", s.Cluster, s.Pool, strings.Join(names, ", "))
}

// checkScaled returns an error where the newest revision has the number of machines of the pool:
// the agent drops another one.
func (p selection) checkScaled(ctx context.Context, s fleet.Scale) error {
	f, err := p.loadAll(ctx, wiring.RenderOptions{})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(f.Clusters, func(c fleet.Cluster) bool { return c.Key == s.Cluster })
	if i < 0 { // the agent uses an older revision
		return nil
	}
	if pool, ok := f.Clusters[i].Pool(s.Pool); ok && pool.Scaling == nil {
		return fmt.Errorf("pool %s of cluster %s has its number of machines in Git: change replicas there, or let an autoscaler set it (docs/guides/clusters/autoscaler.md)", s.Pool, s.Cluster)
	}
	return nil
}
