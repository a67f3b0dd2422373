package adopt_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/console/cli"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
	"fairlead.dev/sources/git/gitserver"
)

// A stack is a world on OpenStack. The in-memory cloud runs what is in the servers.
type stack struct {
	*world
	cloud   *ost.Cloud
	capo    *capo
	secrets string // folder of secrets
	source  string // URL of the fleet's repository

	cloudURL string
}

// newStack returns a cluster that Cluster API and its provider for OpenStack run.
func newStack(t *testing.T) *stack {
	t.Helper()
	return newStackOn(newManagement(t))
}

// newStackOn is newStack for a management cluster.
func newStackOn(m *management) *stack {
	t := m.T
	t.Helper()
	s := &stack{world: newRunningOn(m), cloud: ost.New(ost.Options{}), secrets: filepath.Join(t.TempDir(), "secrets")}
	server := httptest.NewServer(s.cloud)
	t.Cleanup(server.Close)
	s.cloudURL = server.URL
	s.capo = &capo{
		T: t, name: s.ns + "-eu-1", until: s.until,
		Clients: dialOpenStack(t, server.URL+"/identity/v3", "alice", "alice-secret", s.cloud.ProjectID("alpha")),
	}
	ip, _ := s.capo.infrastructure()
	s.cloud.Edit(ost.FloatingIPs, ip, func(o ost.Object) { o["floating_ip_address"] = s.endpoint.Host }) // an address that leads to the API server
	for i, m := range s.machines {
		id := s.capo.machine(string(m.Name), m.Pool == "control-plane")
		s.machines[i].ID = fleet.ProviderID("openstack:///" + id)
		s.renameNode(string(m.Name), s.machines[i].ID)
	}
	s.infra = "OpenStackMachine"
	s.secret("cloud-config", "Opaque", nil, fleet.SecretData{"clouds.yaml": fleet.NewSecret(s.cloud.CloudsYAML(server.URL, "alice"))}, nil)
	s.createAll(openStackManifests)
	return s
}

// renameNode gives a Node another provider id, as the cloud controller manager would.
func (s *stack) renameNode(name string, id fleet.ProviderID) {
	s.Helper()
	list, err := s.nodes().List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	i := slices.IndexFunc(list.Items, func(n node) bool { return n.Name == name })
	if i < 0 {
		s.Fatalf("there is no Node %s", name)
	}
	n := list.Items[i]
	n.Spec.ProviderID = string(id)
	if _, err := s.nodes().Update(s.Context(), &n, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// flags are those of every command that asks the cloud. The cloud answers at once.
func (s *stack) flags() []string {
	return []string{"--secrets", s.secrets, "--openstack-tick", "50ms", "--openstack-settle", "300ms", "--openstack-rate", "10000"}
}

// fairlead runs a command line.
func (s *stack) fairlead(want int, args ...string) string {
	s.Helper()
	var out bytes.Buffer
	if args[0] == "adopt" {
		args = append(slices.Clone(args), "--pause-grace", "0s")
	}
	if got := cli.Main(program(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); got != want {
		s.Fatalf("fairlead %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, want, &out)
	}
	return out.String()
}

// git runs git in the fleet's folder.
func (s *stack) git(args ...string) {
	s.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...)
	cmd.Dir = s.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// serveGit makes the fleet's folder a clone of an empty repository.
func (s *stack) serveGit() {
	s.Helper()
	root := s.TempDir()
	if _, err := gitserver.Init(root, "fleet.git"); err != nil {
		s.Fatal(err)
	}
	handler, err := gitserver.New(root, gitserver.Options{})
	if err != nil {
		s.Fatal(err)
	}
	server := httptest.NewServer(handler)
	s.Cleanup(server.Close)
	s.source = server.URL + "/fleet.git"
	s.git("init", "--quiet", "--initial-branch=main")
	s.git("remote", "add", "origin", s.source)
}

func (s *stack) push(what string) {
	s.Helper()
	s.git("add", "--all")
	s.git("commit", "--quiet", "-m", what)
	s.git("push", "--quiet", "origin", "HEAD:main")
}

// agent runs an agent of the fleet, with flags, until the test ends.
func (s *stack) agent(flags ...string) {
	s.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	var log bytes.Buffer
	cmd := cli.New(program(), cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &log})
	cmd.SetArgs(append(flags, "agent", "--source", s.source, "--name", "test", "--listen", "", "--interval", "200ms", "--resync", "1s", "--status-interval", "200ms"))
	var done sync.WaitGroup
	done.Go(func() {
		if err := cmd.ExecuteContext(ctx); err != nil && ctx.Err() == nil {
			s.Errorf("the agent ended: %v", err)
		}
	})
	s.Cleanup(func() {
		cancel()
		done.Wait()
		if s.Failed() {
			s.Log(log.String())
		}
	})
}

// report returns the cluster's report on the status branch.
func (s *stack) report() fleet.Report {
	s.Helper()
	st, err := wiring.Settings{Source: s.source}.ReadStatus(s.Context(), "fairlead/status")
	if err != nil {
		return fleet.Report{Failure: err.Error()} // the branch does not exist yet
	}
	c, _ := st.Cluster(s.key())
	return c.Report
}

// waitProvisioned waits until the status branch reports exactly n machines, all running.
func (s *stack) waitProvisioned(n int) {
	s.Helper()
	var r fleet.Report
	defer func() {
		if s.Failed() {
			s.Logf("at last: %+v", r)
		}
	}()
	s.until(fmt.Sprintf("the cluster has %d machines and nothing to do", n), func() bool {
		r = s.report()
		running := 0
		for _, m := range r.Machines {
			if m.Phase == fleet.MachinePhaseRunning {
				running++
			}
		}
		return r.Phase == fleet.PhaseProvisioned && running == n && len(r.Machines) == n && len(r.Waiting) == 0 && r.Failure == ""
	})
}

// boot boots the servers that Fairlead makes, from their user data.
func (s *stack) boot() {
	s.Helper()
	networks, err := s.world.cloud.Networks(s.Context(), nil)
	if err != nil || len(networks) != 1 {
		s.Fatalf("the guests have the networks %v, %v", networks, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	booted := make(map[string]bool)
	for _, m := range s.machines {
		booted[strings.TrimPrefix(string(m.ID), "openstack:///")] = true
	}
	look := func() error {
		for _, o := range s.cloud.Objects(ost.Servers) {
			if booted[o.ID()] || o.String("status") != "ACTIVE" {
				continue
			}
			data, err := base64.StdEncoding.DecodeString(o.String("OS-EXT-SRV-ATTR:user_data"))
			if err != nil {
				return err
			}
			booted[o.ID()] = true
			if _, err := s.world.cloud.CreateVM(ctx, inmemory.VMSpec{
				ID: o.ID(), Name: o.String("name"), Network: networks[0].ID, Version: o.Object("metadata").String("fairlead.dev:version"),
				UserData: data, Provider: fleet.ProviderID("openstack:///" + o.ID()),
			}); err != nil {
				return err
			}
		}
		return nil
	}
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			if err := look(); err != nil && ctx.Err() == nil {
				s.Errorf("boot the servers: %v", err)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	s.Cleanup(func() { cancel(); done.Wait() })
}

// cloudObjects returns all objects, by "kind id", without their ownership tags.
func (s *stack) cloudObjects() map[string]string {
	out := make(map[string]string)
	for _, k := range stackKinds {
		for _, o := range s.cloud.Objects(k) {
			if o.String("project_id") == s.cloud.ProjectID("alpha") {
				out[string(k)+" "+o.ID()] = o.String("name") + " " + o.String("status") + " " + o.String("created_at")
			}
		}
	}
	return out
}

// carriesTag reports whether an object carries ownership tags.
func carriesTag(o ost.Object) bool { return strings.Contains(fmt.Sprint(o), "fairlead.dev") }

// untagged names the objects of CAPO without ownership tags.
func (s *stack) untagged() []string {
	var out []string
	for _, k := range stackKinds {
		for _, o := range s.cloud.Objects(k) {
			if o.String("project_id") != s.cloud.ProjectID("alpha") || o.String("name") == "default" || carriesTag(o) ||
				k == ost.Ports && (strings.HasPrefix(o.String("device_owner"), "network:") || strings.Contains(o.String("device_owner"), "Octavia")) {
				continue
			}
			out = append(out, fmt.Sprintf("%s %s %s", k, o.String("name"), o.String("device_owner")))
		}
	}
	return out
}
