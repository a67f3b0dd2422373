// Command build builds Gitea for the tests in test/lab/gitea, from the Go module proxy alone,
// once for all checkouts. It takes eleven minutes of one core the first time.
//
//	go run ./test/lab/gitea/build
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"fairlead.dev/test/lab/gitea"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cannot build Gitea:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := gitea.Dir()
	if err != nil {
		return err
	}
	program := filepath.Join(dir, "gitea")
	if _, err := os.Stat(program); err == nil {
		fmt.Println(program)
		return nil
	}
	src := filepath.Join(dir, "src")
	if err := errors.Join(os.RemoveAll(src), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	if err := source(ctx, src); err != nil {
		return err
	}
	// SQLite is pure Go. Templates are read from the source folder, which stays.
	whole := program + ".new"
	if err := command(ctx, src, "build", "-mod=mod", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.Version="+gitea.Version[1:], "-o", whole, ".").Run(); err != nil {
		return err
	}
	fmt.Println(program)
	return os.Rename(whole, program)
}

// source puts Gitea's source into src, as it can be built. The module calls itself
// gitea.dev. Of what it needs, one module is served under its old name, and two that are
// not served are for imports from other forges alone.
func source(ctx context.Context, src string) error {
	download := command(ctx, os.TempDir(), "mod", "download", "-json", "code.gitea.io/gitea@"+gitea.Version)
	download.Stdout = nil
	out, err := download.Output()
	if err != nil {
		return err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	if err := os.CopyFS(src, os.DirFS(module.Dir)); err != nil {
		return err
	}
	for _, pattern := range []string{"gitea_downloader*.go", "gitlab*.go"} {
		files, err := filepath.Glob(filepath.Join(src, "services", "migrations", pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	if err := os.Chmod(filepath.Join(src, "go.mod"), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(src, "go.sum"), 0o644); err != nil {
		return err
	}
	return command(ctx, src, "mod", "edit", "-droprequire", "gitea.dev/sdk", "-droprequire", "gitlab.com/gitlab-org/api/client-go/v2",
		"-replace", "gitea.dev/actions-proto-go=code.gitea.io/actions-proto-go@v0.6.0").Run()
}

func command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Stdout, c.Stderr = dir, os.Stderr, os.Stderr
	c.Env = append(c.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "GOEXPERIMENT=jsonv2")
	return c
}
