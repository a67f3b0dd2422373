package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// wrappers is where the modules that require the binaries lie, seen from the
// root of the repository.
const wrappers = "test/lab/kube/binaries"

// Build builds b unless it is built, and returns where it lies. root is that of
// the repository. What takes long is reported on progress, as is what the tools of Go
// have to say.
//
// A binary is put in its place when it is whole: a build that is broken off goes
// on from Go's cache the next time.
func (b Binary) Build(ctx context.Context, root string, progress io.Writer) (string, error) {
	path, err := b.Path()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".build-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	fmt.Fprintf(progress, "building %s %s, which takes minutes the first time\n", b.Name, b.Version)
	start := time.Now()
	whole, err := b.compile(ctx, root, dir, progress)
	if err != nil {
		return "", fmt.Errorf("cannot build %s %s: %w", b.Name, b.Version, err)
	}
	if err := os.Rename(whole, path); err != nil {
		return "", err
	}
	fmt.Fprintf(progress, "built in %s\n", time.Since(start).Round(time.Second))
	return path, nil
}

// compile builds b into dir and returns the file.
func (b Binary) compile(ctx context.Context, root, dir string, progress io.Writer) (string, error) {
	flags := "-s -w"
	for _, set := range b.Set {
		flags += " -X " + set
	}
	args := []string{"-trimpath", "-buildvcs=false", "-tags", b.Tags, "-ldflags", flags}
	if b.Wrapper == "" {
		c := command(ctx, dir, progress, "install", append(args, b.Package+"@"+b.Version)...)
		c.Env = append(c.Env, "GOBIN="+dir, "GOFLAGS=")
		return filepath.Join(dir, filepath.Base(b.Package)), c.Run()
	}
	wrapper := filepath.Join(root, wrappers, b.Wrapper)
	list := command(ctx, wrapper, progress, "list", "-m", "-f", "{{.Version}}", b.Module)
	list.Stdout = nil
	version, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("cannot read %s/go.mod: %w; run this in the root of the repository", wrapper, err)
	}
	if v := strings.TrimSpace(string(version)); v != b.Version {
		return "", fmt.Errorf("%s/go.mod requires %s %s, the list of binaries says %s: make them equal", wrapper, b.Module, v, b.Version)
	}
	whole := filepath.Join(dir, b.Name)
	return whole, command(ctx, wrapper, progress, "build", append(args, "-mod=readonly", "-o", whole, b.Package)...).Run()
}

func command(ctx context.Context, dir string, progress io.Writer, verb string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", append([]string{verb}, args...)...)
	c.Dir, c.Stdout, c.Stderr = dir, progress, progress
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	return c
}
