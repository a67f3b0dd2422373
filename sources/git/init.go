package git

import "context"

// Init makes folder a repository with a work tree and without a commit, whose first branch is
// main, as `git init` does. One that is a repository stays unchanged.
func Init(ctx context.Context, folder string) error {
	_, err := WorkingTree(folder).run(ctx, "make a repository of "+folder, "init", "--quiet", "--initial-branch=main")
	return err
}
