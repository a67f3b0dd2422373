// Command build builds the binaries that tests run, those of them that are not
// built yet, and prints where they lie. Without names it builds all but those
// that want to be asked for.
//
//	go run ./test/kube/binaries/build [NAME...]
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairlead.dev/test/kube/binaries"
)

// wrappers is where the modules that require the binaries lie, seen from the
// root of the repository.
const wrappers = "test/kube/binaries"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) error {
	wanted := slices.DeleteFunc(binaries.List(), func(b binaries.Binary) bool { return b.Asked })
	if len(names) > 0 {
		wanted = nil
	}
	for _, name := range names {
		b, err := binaries.Find(name)
		if err != nil {
			return err
		}
		wanted = append(wanted, b)
	}
	for _, b := range wanted {
		if err := build(ctx, b); err != nil {
			return fmt.Errorf("cannot build %s: %w", b.Name, err)
		}
	}
	return nil
}

// build builds b unless it is there, and puts it in its place when it is whole.
func build(ctx context.Context, b binaries.Binary) error {
	path, err := b.Path()
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		fmt.Fprintln(os.Stdout, path)
		return nil
	}
	wrapper := filepath.Join(wrappers, b.Wrapper)
	version, err := command(ctx, wrapper, "go", "list", "-m", "-f", "{{.Version}}", b.Module).Output()
	if err != nil {
		return fmt.Errorf("cannot read %s/go.mod: %w; run this in the root of the repository", wrapper, err)
	}
	if v := strings.TrimSpace(string(version)); v != b.Version {
		return fmt.Errorf("%s/go.mod requires %s %s, the list of binaries says %s: make them equal", wrapper, b.Module, v, b.Version)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	fmt.Fprintf(os.Stderr, "building %s %s, which takes minutes the first time\n", b.Name, b.Version)
	start, whole := time.Now(), filepath.Join(dir, b.Name)
	flags := "-s -w"
	for _, set := range b.Set {
		flags += " -X " + set
	}
	c := command(ctx, wrapper, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", whole, b.Package)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := c.Run(); err != nil {
		return err
	}
	if err := os.Rename(whole, path); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "built in %s\n", time.Since(start).Round(time.Second))
	fmt.Fprintln(os.Stdout, path)
	return nil
}

func command(ctx context.Context, dir string, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Stderr = dir, os.Stderr
	return c
}
