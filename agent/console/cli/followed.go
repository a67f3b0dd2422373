package cli

import (
	"context"
	"fmt"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/status"
)

// checkFollowed returns an error where no agent reads what is written to the status branch
// of p, with the source to name instead. The status branch of a clone is in the clone's own
// folder, which no agent of its repository reads. An agent of a repository is known by
// owner.yaml alone.
func (p selection) checkFollowed(ctx context.Context, branch string) error {
	b, err := p.settings.OpenBranch(branch)
	if err != nil {
		return err
	}
	owner, err := status.NewArbiter(b).Owner(ctx)
	if err != nil {
		return err
	}
	where := redacted(p.settings.Source)
	folder, isFolder := b.(*dir.Branch)
	switch {
	case isFolder && owner.Agent != "" && (folder.Followed() || !wiring.IsFolder(p.settings.Source)):
		return nil
	case isFolder && !wiring.IsFolder(p.settings.Source):
		return fmt.Errorf("no agent has ever written the status of %s to the folder %s: start an agent, or set --status-repository", where, p.settings.StatusRepository)
	case isFolder && owner.Agent != "" && !folder.Told():
		return fmt.Errorf("cannot tell whether an agent follows the folder %s: its owner, agent %q, is of a version that does not record it. "+
			"Restart it with this version (fairlead agent --source %[1]s --name %[2]s), and repeat the command", where, owner.Agent)
	case isFolder && p.origin(ctx) != "":
		return fmt.Errorf("no agent follows the folder %s, which is a clone: add --source %s", where, p.origin(ctx))
	case isFolder:
		return fmt.Errorf("no agent follows the folder %s: set --source to the fleet repository, or run fairlead agent --source %[1]s", where)
	case owner.Agent == "":
		return fmt.Errorf("no agent has ever followed %s: start an agent, or set --status-branch or --status-repository", where)
	}
	return nil
}

// origin returns the repository that the folder is a clone of, without credentials. It is
// empty where the folder is no clone, or a status repository is named.
func (p selection) origin(ctx context.Context) string {
	if !wiring.IsFolder(p.settings.Source) || p.settings.StatusRepository != "" {
		return ""
	}
	return redacted(git.Origin(ctx, p.settings.Source))
}
