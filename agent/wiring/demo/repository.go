package demo

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A repository is a person's clone of the fleet repository. It is used with the program
// git, as people do.
type repository struct{ dir string }

// newRepository makes a clone in dir, with files, that pushes to url.
func newRepository(ctx context.Context, dir, url string, files fs.FS) (*repository, error) {
	if err := os.CopyFS(dir, files); err != nil {
		return nil, fmt.Errorf("cannot write the example fleet: %w", err)
	}
	r := &repository{dir: dir}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"remote", "add", "origin", url},
	} {
		if _, err := r.git(ctx, args...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// push commits everything with message, pushes it, and returns the commit.
func (r *repository) push(ctx context.Context, message string) (string, error) {
	for _, args := range [][]string{
		{"add", "--all"},
		{"commit", "--quiet", "--message", message},
		{"push", "--quiet", "origin", "main"},
	} {
		if _, err := r.git(ctx, args...); err != nil {
			return "", err
		}
	}
	return r.git(ctx, "rev-parse", "HEAD")
}

// propose commits everything with message, pushes it to a branch of its own, and returns the
// commit.
func (r *repository) propose(ctx context.Context, branch, message string) (string, error) {
	for _, args := range [][]string{
		{"checkout", "--quiet", "-b", branch},
		{"add", "--all"},
		{"commit", "--quiet", "--message", message},
		{"push", "--quiet", "origin", branch},
	} {
		if _, err := r.git(ctx, args...); err != nil {
			return "", err
		}
	}
	return r.git(ctx, "rev-parse", "HEAD")
}

func mergeMessage(branch string) string { return "Merge " + branch }

// merge merges a branch that was proposed, pushes it, and returns the commit.
func (r *repository) merge(ctx context.Context, branch string) (string, error) {
	for _, args := range [][]string{
		{"checkout", "--quiet", "main"},
		{"merge", "--quiet", "--no-ff", "--message", mergeMessage(branch), branch},
		{"push", "--quiet", "origin", "main"},
	} {
		if _, err := r.git(ctx, args...); err != nil {
			return "", err
		}
	}
	return r.git(ctx, "rev-parse", "HEAD")
}

// replace replaces old in a file. It fails where the file does not contain old.
func (r *repository) replace(file, old, replacement string) error {
	path := filepath.Join(r.dir, file)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(b, []byte(old)) {
		return fmt.Errorf("cannot edit %s: there is no %q in it", file, old)
	}
	return os.WriteFile(path, bytes.ReplaceAll(b, []byte(old), []byte(replacement)), 0o600)
}

// add appends text to a file.
func (r *repository) add(file, text string) error {
	path := filepath.Join(r.dir, file)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, text...), 0o600)
}

// git runs git in the clone and returns its trimmed output. It ignores the configuration of
// this computer, so that a demonstration is the same everywhere.
func (r *repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.com",
		"GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.com",
	)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// remove removes a folder.
func (r *repository) remove(dir string) error {
	return os.RemoveAll(filepath.Join(r.dir, dir))
}
