package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"fairlead.dev/fleet"
)

// A WorkingTree is a clone that a person works in, at the folder that it names. The program
// git is run, with that person's configuration.
type WorkingTree string

// run runs git in w, and returns what it writes.
func (w WorkingTree) run(ctx context.Context, op string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", string(w)}, args...)...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fleet.Errorf(fleet.Unknown, op, "git %s: %w: %s", args[0], err, fleet.PlainText(strings.TrimSpace(complaint.String())))
	}
	return strings.TrimSpace(out.String()), nil
}

// Commit returns the hash of the commit that a branch, tag, hash, or an expression such as
// HEAD~1 means in w.
func (w WorkingTree) Commit(ctx context.Context, rev string) (string, error) {
	return w.run(ctx, "find revision "+rev, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
}

// Share makes a bare repository in the empty folder at, whose only branch main is at commit. It
// reads the objects of w without a copy, so w must outlive it. A clone that leaves out
// objects cannot be shared.
func (w WorkingTree) Share(ctx context.Context, at, commit string) error {
	op := "read commit " + commit + " of " + string(w)
	if _, err := w.run(ctx, op, "config", "--get", "extensions.partialClone"); err == nil {
		return fleet.Errorf(fleet.Unavailable, op, "the clone leaves out objects")
	}
	folder, err := w.run(ctx, op, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return err
	}
	shared := WorkingTree(at)
	if _, err := shared.run(ctx, op, "init", "--quiet", "--bare", "--initial-branch=main"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(at, "objects", "info", "alternates"), []byte(filepath.Join(folder, "objects")+"\n"), 0o600); err != nil {
		return err
	}
	shallow, err := os.ReadFile(filepath.Join(folder, "shallow")) //nolint:gosec // the user's own clone
	if err == nil {
		err = os.WriteFile(filepath.Join(at, "shallow"), shallow, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = shared.run(ctx, op, "update-ref", "refs/heads/main", commit)
	return err
}

// Clean returns an error of kind Conflict where files of w that Git knows differ from the
// newest commit.
func (w WorkingTree) Clean(ctx context.Context) error {
	const op = "look for changes that are not committed"
	out, err := w.run(ctx, op, "status", "--porcelain", "--untracked-files=no")
	if err != nil || out == "" {
		return err
	}
	return fleet.Errorf(fleet.Conflict, op, "%s has some: commit or stash them first", string(w))
}

// GoBack restores the folder path of w to its state in the commit to, in a commit of its own with
// message, and returns its hash. The error is of kind NotFound where it is so already.
func (w WorkingTree) GoBack(ctx context.Context, to, path, message string) (string, error) {
	op := fmt.Sprintf("go back to %.12s", to)
	if _, err := w.run(ctx, op, "restore", "--source", to, "--staged", "--worktree", "--", path); err != nil {
		return "", err
	}
	changed, err := w.run(ctx, op, "diff", "--cached", "--name-only")
	if err != nil {
		return "", err
	}
	if changed == "" {
		return "", fleet.Errorf(fleet.NotFound, op, "%s is as it was then: there is nothing to go back from", path)
	}
	if _, err := w.run(ctx, op, "commit", "--quiet", "--message", message); err != nil {
		return "", err
	}
	return w.Commit(ctx, "HEAD")
}

// Subject returns the first line of the message of a commit.
func (w WorkingTree) Subject(ctx context.Context, commit string) (string, error) {
	return w.run(ctx, "read commit "+commit, "show", "--no-patch", "--format=%s", commit)
}

// Branch returns the name of the current branch of w.
func (w WorkingTree) Branch(ctx context.Context) (string, error) {
	return w.run(ctx, "find the current branch of "+string(w), "symbolic-ref", "--quiet", "--short", "HEAD")
}

// PushedTo returns the URLs that Push pushes to: a clone may fetch from another repository.
func (w WorkingTree) PushedTo(ctx context.Context) ([]string, error) {
	out, err := w.run(ctx, "read where origin is pushed to", "remote", "get-url", "--push", "--all", "origin")
	return strings.Split(out, "\n"), err
}

// Push pushes the newest commit of w to branch of origin, whatever push.default and
// remote.origin.push say.
func (w WorkingTree) Push(ctx context.Context, branch string) error {
	_, err := w.run(ctx, "push", "push", "--quiet", "origin", "HEAD:refs/heads/"+branch)
	return err
}
