package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/check"
	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/observability/notify"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/status"
)

func newCheck(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "check [PATH|URL]",
		GroupID: groupWrite,
		Short:   "Check prerequisites: repository access, credentials, secrets, cloud",
		Long: `Check prerequisites of a fleet: manifests; access to the repository and push access
for its status; the credential of the Git provider, if fleet.yaml plans pull requests;
credentials of each cloud; images, flavors, networks, rights, hosts and quota of
OpenStack, vSphere and bare metal; charts of addons; targets of notifications that can
be checked without a message.

The command uses the credentials and secrets given here and changes nothing. In a clone
it checks the manifests of the folder and the repository of its origin. What it could
not check is UNKNOWN. The exit code is 1 if a check fails.`,
		Example: `  fairlead check
  fairlead check --problems --source https://git.example.com/fleet.git --secrets kubernetes
  fairlead check -o json | jq -r '.checks[] | select(.state == "FAIL") | .message'`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	f := addSource(cmd, built)
	f.addStatus(cmd)
	f.addSecrets(cmd)
	f.addProviders(cmd)
	f.addForge(cmd)
	notifications := cmd.Flags().String("notification-credentials", "", "folder of notification credentials, as for the agent, to check targets without sending a message")
	problems := cmd.Flags().Bool("problems", false, "show only checks that are not OK")
	settings(cmd, "problems")
	partOfFleet(cmd)
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, err := locate(cmd.Context(), f.from(argv, quiet(cmd.ErrOrStderr())))
		if err != nil {
			return err
		}
		k := &checking{p: p, f: f, report: &check.Report{Lines: []check.Line{}}, notifications: *notifications, warn: func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+text) }}
		k.all(cmd.Context())
		shown := k.report
		if *problems {
			shown = shown.Problems()
		}
		if err := shown.Write(cmd.OutOrStdout(), output.Format(*form)); err != nil {
			return err
		}
		failed, unknown := k.report.Count(check.Fail), k.report.Count(check.Unknown)
		if output.Format(*form) == output.FormatTable {
			fmt.Fprintf(cmd.OutOrStdout(), "\n%s: %d failed, %d unknown\n", output.Count(len(k.report.Lines), "check"), failed, unknown)
		}
		if failed > 0 {
			return &exitError{exitFailure}
		}
		return nil
	}
	return cmd
}

// checking is one check of a selection.
type checking struct {
	p      selection
	f      *sourceFlags
	report *check.Report
	warn   func(string)
	// notifications is a folder as the agent's --notification-credentials; empty: not here.
	notifications string
}

// all looks at everything, in the order in which an agent needs it.
func (k *checking) all(ctx context.Context) {
	loaded := k.definitions(ctx)
	remote, where := k.remote(ctx)
	recorded := k.repository(ctx, remote, where, cmp.Or(k.f.branch, loaded.Config.StatusBranch, fleet.DefaultStatusBranch))
	if loaded.Config.PullRequests.Planned {
		k.forge(ctx, remote, where)
	}
	var clusters []*fleet.Cluster
	running := make(map[fleet.Key]string)
	for i := range loaded.Clusters {
		c := &loaded.Clusters[i]
		known, _ := recorded.Cluster(c.Key)
		running[c.Key] = known.Report.Version
		clusters = append(clusters, c.WithResidence(known.Report.Residence))
	}
	k.report.Versions(clusters, running)
	k.clouds(ctx, clusters)
	if charts, ok := k.p.settings.Built.Charts().(helm.Finder); ok {
		k.report.Charts(ctx, clusters, charts)
	}
	k.report.Targets(ctx, loaded.Config.Notifications, k.probe)
}

// definitions checks what Git says.
func (k *checking) definitions(ctx context.Context) fleet.Fleet {
	const what = "definitions"
	where := redacted(k.p.settings.Source)
	loaded, err := k.p.load(ctx, (&valueFlags{warn: k.warn}).options())
	switch {
	case err != nil:
		k.report.Unreachable(what, where, err)
	case len(loaded.Problems) > 0:
		k.report.Unreachable(what, where, fmt.Errorf("%s, the first: %s (run fairlead validate for all)", output.Count(len(loaded.Problems), "problem"), loaded.Problems[0]))
	case len(loaded.Clusters) == 0:
		k.report.Unreachable(what, where, k.p.empty())
	default:
		k.report.Note(what, where, verdict(loaded), nil)
	}
	return loaded
}

// remote returns the settings with the repository that an agent follows as the source, and
// its name. A folder that is in no clone is followed itself.
func (k *checking) remote(ctx context.Context) (wiring.Settings, string) {
	s := k.p.settings
	if s.Credentials == (credentials.Files{}) {
		s.Credentials.Personal = true // as other commands of people do
	}
	if wiring.IsFolder(s.Source) && s.StatusRepository == "" {
		if clone := cloneOf(absolute(s.Source)); clone != "" {
			if origin := originOf(ctx, clone); origin != "" {
				if rel, err := filepath.Rel(clone, absolute(s.Source)); err == nil && rel != "." {
					s.Path = filepath.ToSlash(rel)
				}
				s.Source = origin
			}
		}
	}
	return s, redacted(cmp.Or(s.StatusRepository, s.Source))
}

// repository checks the way to the status branch, and returns what that says.
func (k *checking) repository(ctx context.Context, s wiring.Settings, where, branch string) status.Status {
	const what = "repository"
	if wiring.IsFolder(cmp.Or(s.StatusRepository, s.Source)) {
		k.report.Note(what, where, "a folder, which an agent on this computer can follow", folderWritable(cmp.Or(s.StatusRepository, s.Source)))
		return k.owner(ctx, s, where, "")
	}
	r, err := s.OpenStatusRepository()
	if err != nil {
		k.report.Unreachable(what, where, err)
		return status.Status{}
	}
	rev, err := r.Resolve(ctx)
	switch {
	case err == nil:
		k.report.Note(what, where, rev.String()+" is the newest revision", nil)
	case git.IsEmpty(err):
		k.report.Note(what, where, "reached; nothing was pushed to it yet", nil)
	default:
		k.report.Unreachable(what, where, err)
		return status.Status{}
	}
	k.report.Note("push", where, "the credential has push access. Protection and locks of branch "+branch+" are not tested", r.MayPush(ctx, branch))
	return k.owner(ctx, s, where, branch)
}

// owner checks whether the status branch is read, and says who owns the fleet.
func (k *checking) owner(ctx context.Context, s wiring.Settings, where, branch string) status.Status {
	got, err := s.ReadStatus(ctx, branch)
	text := "no agent has worked on this fleet yet"
	if got.Owner.Agent != "" {
		text = fmt.Sprintf("owned by %s (epoch %d)", got.Owner.Agent, got.Owner.Epoch)
	}
	if err == nil {
		err = got.Whole()
	}
	k.report.Note("status branch", where, text, err)
	return got
}

// forge checks whether the forge takes the credential, and lets it comment.
func (k *checking) forge(ctx context.Context, s wiring.Settings, where string) {
	const what = "forge"
	f, err := s.OpenForge()
	if err != nil {
		k.report.Unreachable(what, where, err)
		return
	}
	who, err := f.Self(ctx)
	if err == nil {
		_, err = f.Open(ctx)
	}
	if err != nil {
		k.report.Unreachable(what, where, err)
		return
	}
	k.report.Note(what, where, "pull requests are read as "+who, nil)
	const writing = "write comments and statuses of pull requests"
	may, err := f.MayWrite(ctx)
	if err == nil && !may {
		err = fleet.Errorf(fleet.Unauthorized, writing, "%s has no right to (give it that to write to the repository)", who)
	}
	k.report.Note("rights", where, who+" may write comments and statuses", err)
}

// clouds checks the secret store, and whatever the clusters are on.
func (k *checking) clouds(ctx context.Context, clusters []*fleet.Cluster) {
	const what = "secret store"
	s := k.p.settings
	where := cmp.Or(s.Secrets, "the default folder")
	w, err := wiring.OpenRuntime(ctx, s, wiring.ReadOnly, nil)
	if err != nil {
		k.report.Unreachable(what, where, err)
		return
	}
	defer w.Close()
	text := "readable"
	if _, none := w.Secrets.(*secrets.Memory); none {
		text = "none yet: the agent creates it"
	}
	k.report.Note(what, where, text, nil)
	if k.p.emptyCloud(clusters) {
		k.warn(emptyCloud)
	}
	k.report.Clouds(ctx, check.Clouds{Clusters: clusters, Open: w.Infrastructure})
}

// probe says whether messages of a target would get there.
func (k *checking) probe(ctx context.Context, t fleet.NotificationTarget) (string, error) {
	const op = "look for its credentials"
	if k.notifications == "" {
		return "", fleet.Errorf(fleet.Unknown, op, "they are where the agent runs (name their folder with --notification-credentials)")
	}
	c, err := notify.Folder(k.notifications)(t.Name)
	if err != nil {
		return "", fleet.Errorf(fleet.NotFound, op, "%w", err)
	}
	s, err := notify.Open(t, c, time.Now)
	if err != nil {
		return "", fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	p, ok := s.(notify.Prober)
	if !ok {
		return "", fleet.Errorf(fleet.Unknown, "reach it", "it takes messages alone (it shows with the first)")
	}
	return p.Probe(ctx)
}

// folderWritable returns why no agent could write its status into folder.
func folderWritable(folder string) error {
	info, err := os.Stat(folder)
	if errors.Is(err, os.ErrPermission) || err == nil && info.Mode().Perm()&0o222 == 0 {
		return fleet.Errorf(fleet.Unauthorized, "write to "+folder, "it is read-only")
	}
	return err
}
