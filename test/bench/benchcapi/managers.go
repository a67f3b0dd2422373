package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// version is the release of Cluster API that is measured.
const version = "v1.14.2"

// A manager is one of the programs of Cluster API.
type manager struct {
	name   string
	module string // that it is part of
	folder string // of its main package and its manifests, in the module
}

func managers() []manager {
	const core, test = "sigs.k8s.io/cluster-api", "sigs.k8s.io/cluster-api/test"
	return []manager{
		{"core", core, "core"},
		{"bootstrap", core, "bootstrap/kubeadm"},
		{"control-plane", core, "controlplane/kubeadm"},
		{infrastructure, test, "infrastructure/docker"}, // it has the in-memory provider, too
	}
}

// infrastructure is the name of the manager that is the cloud and the workload clusters, too.
const infrastructure = "infrastructure"

// A program is a manager that is built.
type program struct {
	manager
	path      string
	manifests string // folder
}

// build builds the managers that are not built yet, in a module of their own in the user's
// cache directory, and returns all of them.
func build(ctx context.Context) ([]program, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "fairlead", "cluster-api", version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	module := filepath.Join(dir, "go.mod")
	if _, err := os.Stat(module); err != nil {
		text := "module managers\n\ngo 1.26.0\n\nrequire (\n"
		for _, m := range []string{"", "/api", "/test"} { // of one release
			text += "\tsigs.k8s.io/cluster-api" + m + " " + version + "\n"
		}
		if err := os.WriteFile(module, []byte(text+")\n"), 0o600); err != nil {
			return nil, err
		}
	}
	var out []program
	for _, m := range managers() {
		p := program{manager: m, path: filepath.Join(dir, m.name)}
		if _, err := os.Stat(p.path); err != nil {
			fmt.Fprintf(os.Stderr, "building the %s manager of Cluster API %s, which takes minutes the first time\n", m.name, version)
			// The tag is that of Cluster API's own images.
			_, err := command(ctx, dir, "build", "-mod=mod", "-trimpath", "-tags=fieldsv1string", "-ldflags=-s -w", "-o", p.path, m.module+"/"+m.folder)
			if err != nil {
				return nil, err
			}
		}
		source, err := command(ctx, dir, "list", "-mod=mod", "-m", "-f", "{{.Dir}}", m.module)
		if err != nil {
			return nil, err
		}
		p.manifests = filepath.Join(source, m.folder, "config")
		out = append(out, p)
	}
	return out, nil
}

// command runs a command of Go in dir and returns what it prints.
func command(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	return strings.TrimSpace(string(out)), nil
}
