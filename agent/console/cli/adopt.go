package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/sources/status"
)

// adoptFlags are the flags that only adopt has.
type adoptFlags struct {
	kubeconfig, context, into string
	namespaces, clusters      []string
	classes, credentials      string
	recipients                []string
	drift, dryRun, undo       bool
	grace                     time.Duration
}

func newAdopt(built wiring.Built) *cobra.Command {
	var own adoptFlags
	cmd := &cobra.Command{
		Use:     "adopt --kubeconfig FILE --into FOLDER",
		GroupID: groupRun,
		Short:   "Import clusters from a Cluster API management cluster",
		Long: `Import clusters from a Cluster API management cluster. No machine is changed. The
command writes the manifests of each cluster to FOLDER, a clone of the fleet repository,
with spec.paused, pauses the cluster in the management cluster, plans it, and continues
only if the plan is empty. Then commit and push FOLDER. Until then --undo gives the
cluster back.

Steps for each cluster:

  check    check everything that can be checked, before any change
  write    write its manifests to FOLDER, a clone of the fleet repository, with
           spec.paused: an agent that sees them does not act
  secrets  copy its CA certificates and kubeconfig to the secret store
  pause    pause its Cluster in the management cluster, and wait for all controllers
  mark     add the ownership tags of the fleet to its infrastructure
  plan     plan it: the plan must be empty
  release  remove spec.paused from the manifests

Run the same command again to continue after an interruption. If a cluster cannot be adopted, the
command reports the field that prevents it, skips the cluster and continues.

--source is the repository as the agent has it: the name of the fleet and the secret
store depend on it. It is optional if fleet.yaml in FOLDER has a name and --secrets is set.
The exit code is 1 if a cluster was not adopted.`,
		Example: `  fairlead adopt --kubeconfig mgmt.kubeconfig --into ./fleet --dry-run
  fairlead adopt --kubeconfig mgmt.kubeconfig --into ./fleet --cluster prod/eu-1 \
    --secrets kubernetes:home.kubeconfig
  fairlead adopt --kubeconfig mgmt.kubeconfig --into ./fleet --cluster prod/eu-1 \
    --source https://git.example.com/fleet.git --undo`,
		Args: args(cobra.NoArgs),
	}
	f := addSource(cmd, built)
	f.addStatus(cmd)
	f.addSecrets(cmd)
	f.addProviders(cmd)
	fs := cmd.Flags()
	fs.StringVar(&own.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster")
	fs.StringVar(&own.context, "context", "", "context of the kubeconfig (default: its current one)")
	fs.StringVar(&own.into, "into", "", "folder of the fleet to write manifests to")
	fs.StringArrayVarP(&own.namespaces, "namespace", "n", nil, "namespace of clusters to adopt; may be repeated (default: all)")
	fs.StringArrayVar(&own.clusters, "cluster", nil, "cluster to adopt, NAME or NAMESPACE/NAME; may be repeated (default: all)")
	fs.StringVar(&own.classes, "classes", string(adopt.KeepClasses), "for clusters with a ClusterClass: keep it as a library, or expand it to the objects of Cluster API")
	fs.StringVar(&own.credentials, "provider-credentials", string(adopt.InStore), "destination of Secrets that manifests refer to: store, git (encrypted) or none")
	fs.StringArrayVar(&own.recipients, "age-recipient", nil, "age recipient of Secrets in Git; may be repeated (default: that of the secret store)")
	fs.BoolVar(&own.drift, "accept-drift", false, "continue if Fairlead would correct the infrastructure, such as security group rules")
	fs.DurationVar(&own.grace, "pause-grace", time.Minute, "time for controllers without a Paused condition to finish what they began before the pause")
	fs.BoolVar(&own.dryRun, "dry-run", false, "show each step and change nothing")
	fs.BoolVar(&own.undo, "undo", false, "give back clusters that Fairlead has not changed yet")
	confirms(cmd, "accept-drift", "undo")
	settings(cmd, "dry-run")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := own.check(); err != nil {
			return err
		}
		return runAdopt(cmd, f, &own)
	}
	return cmd
}

func (own *adoptFlags) check() error {
	for _, needed := range []struct{ flag, value string }{{"kubeconfig", own.kubeconfig}, {"into", own.into}} {
		if needed.value == "" {
			return &usageError{fmt.Errorf("missing --%s", needed.flag)}
		}
	}
	switch adopt.Classes(own.classes) {
	case adopt.KeepClasses, adopt.ExpandClasses:
	default:
		return &usageError{fmt.Errorf("invalid --classes %q: must be one of keep, expand", own.classes)}
	}
	switch adopt.Credentials(own.credentials) {
	case adopt.InStore, adopt.InGit, adopt.Nowhere:
	default:
		return &usageError{fmt.Errorf("invalid --provider-credentials %q: must be one of store, git, none", own.credentials)}
	}
	return nil
}

func runAdopt(cmd *cobra.Command, f *sourceFlags, own *adoptFlags) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	followed := f.from(nil, quiet(cmd.ErrOrStderr())) // the settings that an agent of the fleet has
	if f.settings.Source == "" {
		followed.Source = own.into
	}
	here := followed
	here.Source = own.into
	id, err := fleetOf(here, followed, own.into)
	if err != nil {
		return err
	}
	here.FleetID = string(id)
	if here.Secrets == "" && f.settings.Source == "" {
		return &usageError{errors.New("the secret store of the agent is unknown: set --secrets, or --source as the agent has it")}
	}
	if own.undo && f.settings.Source == "" && f.settings.StatusRepository == "" {
		return &usageError{errors.New("cannot tell whether an agent acts on the clusters: set --source as the agent has it, or --status-repository")}
	}
	management, err := adopt.Connect(ctx, own.kubeconfig, own.context)
	if err != nil {
		return err
	}
	clusters, err := management.Clusters(ctx, own.namespaces, own.clusters)
	if err != nil {
		return err
	}
	world := followed
	world.FleetID = string(id)
	w, err := wiring.OpenRuntime(ctx, world, modeOf(!own.dryRun), nil)
	if err != nil {
		return err
	}
	defer w.Close()
	if !own.dryRun {
		if err := pin(own.into, id); err != nil {
			return err
		}
	}
	a, err := own.adoption(management, w, here, followed, f.branch, id, out)
	if err != nil {
		return err
	}
	if own.undo {
		return showAdopted(out, a.Undo(ctx, clusters), "given back")
	}
	done := "adopted"
	if own.dryRun {
		done = "ready to be adopted"
	}
	return showAdopted(out, a.Run(ctx, clusters), done)
}

// adoption makes the Adoption from flags and settings.
func (own *adoptFlags) adoption(m *adopt.Management, w *wiring.Runtime, here, followed wiring.Settings, branch string, id fleet.ID, out io.Writer) (*adopt.Adoption, error) {
	registry, err := here.Built.Registry()
	if err != nil {
		return nil, err
	}
	recipients := own.recipients
	if s, ok := w.Secrets.(interface{ Recipient() string }); ok && len(recipients) == 0 {
		recipients = []string{s.Recipient()}
	}
	overlay := adopt.NewOverlay(w.Secrets, id)
	w.UseSecrets(overlay)
	var last fleet.Key
	return adopt.New(adopt.Options{
		Management: m, Fleet: id, Folder: own.into,
		Kinds: registry.Kinds(), Decoder: decode.New(id, registry.Kinds()),
		Load: func(ctx context.Context) (fleet.Fleet, error) {
			return wholeOf(here).load(ctx, wiring.RenderOptions{Sealed: func(string, string) {}})
		},
		Look: w.Looker().Look, Infrastructure: w.Infrastructure, Secrets: overlay,
		Status: func(ctx context.Context) (status.Status, error) {
			return followed.ReadStatus(ctx, cmp.Or(branch, "fairlead/status"))
		},
		Classes: adopt.Classes(own.classes), Credentials: adopt.Credentials(own.credentials), Recipients: recipients,
		AcceptDrift: own.drift, DryRun: own.dryRun, PauseGrace: own.grace,
		OnStep: func(k fleet.Key, step adopt.Step, text string) {
			if k != last {
				fmt.Fprintln(out, k)
				last = k
			}
			fmt.Fprintf(out, "  %-8s %s\n", step, text)
		},
	}), nil
}

// fleetOf returns the id of the fleet in folder, as an agent with the settings followed
// derives it.
func fleetOf(here, followed wiring.Settings, folder string) (fleet.ID, error) {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "", fmt.Errorf("--into %s is not a folder: clone the fleet repository there, or create an empty folder", folder)
	}
	var manifest render.Manifest
	data, err := os.ReadFile(filepath.Join(folder, render.ConfigFile))
	if err == nil {
		err = documents.Unmarshal(data, &manifest, documents.DefaultLimits())
	}
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("cannot read %s: %w", render.ConfigFile, err)
	case manifest.Metadata.Name != "":
		return fleet.ID(manifest.Metadata.Name), nil
	case followed.FleetID != "":
		return fleet.ID(followed.FleetID), nil
	case followed.Source == here.Source:
		return "", &usageError{fmt.Errorf("the fleet in %s has no name: set metadata.name in fleet.yaml, --fleet-id, or --source as the agent has it", folder)}
	}
	id, err := followed.Identity()
	return fleet.ID(id), err
}

// pin writes the id of the fleet into a folder without fleet.yaml. So the tags stay right
// wherever the folder is read from.
func pin(folder string, id fleet.ID) error {
	file := filepath.Join(folder, render.ConfigFile)
	if _, err := os.Stat(file); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	text := "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata:\n  name: " + string(id) + "\n"
	return os.WriteFile(file, []byte(text), 0o644) //nolint:gosec // a file of a repository
}

// showAdopted shows the results for people.
func showAdopted(w io.Writer, results []adopt.Result, done string) error {
	failed := 0
	for _, r := range results {
		if r.Done {
			continue
		}
		failed++
		fmt.Fprintf(w, "%s is not %s:\n", r.Cluster, done)
		for _, p := range r.Problems {
			fmt.Fprintln(w, "  "+p.String())
		}
		if r.Err != nil {
			fmt.Fprintln(w, "  "+r.Err.Error())
		}
	}
	fmt.Fprintf(w, "%d of %s: %s\n", len(results)-failed, output.Count(len(results), "cluster"), done)
	if failed > 0 {
		return &exitError{exitFailure}
	}
	return nil
}
