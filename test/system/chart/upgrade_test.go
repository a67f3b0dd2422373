package chart

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	cloud "fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/test/lab/kube"
)

// A chart in a registry is upgraded while its agent works, and rolled back: with
// each, the pod of the other version waits as a follower, the leader hands over,
// and no machine that was there is touched. An owner.yaml without a place, as it
// was before there were places, is taken for the agent's own.
func TestUpgradeAndRollbackOfTheAgent(t *testing.T) {
	long(t)
	const next = "v1.2.4"
	k := kube.Start(t)
	charts := "oci://" + registry(t) + "/platform/charts"
	dir := t.TempDir()
	for _, v := range []string{version, next} {
		makeTarget(t, "chart", "VERSION="+v, "CHART_OUT="+dir)
		mustHelm(t, k, "push", filepath.Join(dir, "fairlead-"+strings.TrimPrefix(v, "v")+".tgz"), charts, "--plain-http")
	}
	vms, url := startCloud(t, agentImage(t, version))
	machines := func() (ids []string) {
		all, err := vms.VMs(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, vm := range all {
			ids = append(ids, vm.ID)
		}
		slices.Sort(ids)
		return ids
	}
	s := newSite(t, k, "--set", "extraArgs={--inmemory-url="+url+"}")
	upgrade := func(to string) {
		t.Helper()
		mustHelm(t, k, "upgrade", "fairlead", charts+"/fairlead", "--plain-http", "--version", to, "-n", s.namespace, "--reuse-values", "--set", "image.tag=")
	}
	upgrade("1.2.3")
	one := s.start()
	if err := s.await(one, "the cluster is Provisioned", func() bool { return s.phase() == "Provisioned" && leads(t, one, version) }); err != nil {
		t.Fatal(err)
	}
	s.planIsEmpty(agentImage(t, version), url)
	s.planIsEmpty(agentImage(t, next), url)
	before := machines()
	owner := mustGit(t, s.bare, "show", "fairlead/status:owner.yaml")

	upgrade("1.2.4")
	two := s.start()
	eventually(t, "the new version stands by", func() bool { return ready(t, two) })
	if !leads(t, one, version) || leads(t, two, next) {
		t.Error("with the old leader running, the new version leads")
	}
	one.stop()
	eventually(t, "the new version leads", func() bool { return leads(t, two, next) })

	s.edit("clusters/staging/eu-2/values.yaml", `WORKER_MACHINE_COUNT: "1"`, `WORKER_MACHINE_COUNT: "2"`)
	s.push("One more worker")
	eventually(t, "the new version makes one more worker", func() bool { return len(machines()) == len(before)+1 })
	s.planIsEmpty(agentImage(t, next), url)
	after := machines()
	for _, id := range before {
		if !slices.Contains(after, id) {
			t.Errorf("the upgrade replaced the machine %s", id)
		}
	}
	s.planIsEmpty(agentImage(t, version), url) // of the version to go back to

	mustHelm(t, k, "rollback", "fairlead", "-n", s.namespace)
	three := s.start()
	eventually(t, "the old version stands by", func() bool { return ready(t, three) })
	two.stop()
	eventually(t, "the old version leads again", func() bool { return leads(t, three, version) })
	three.stop()
	if now := mustGit(t, s.bare, "show", "fairlead/status:owner.yaml"); now != owner {
		t.Errorf("owner.yaml changed from\n%s\nto\n%s", owner, now)
	}

	s.forgetPlace(owner)
	upgrade("1.2.4")
	four := s.start()
	eventually(t, "the new version leads without a place in owner.yaml", func() bool { return leads(t, four, next) })
	eventually(t, "and says its place", func() bool { return mustGit(t, s.bare, "show", "fairlead/status:owner.yaml") == owner })
	s.planIsEmpty(agentImage(t, next), url)
	if now := machines(); !slices.Equal(now, after) {
		t.Errorf("the machines were %v and are %v", after, now)
	}
}

// startCloud starts an in-memory cloud that outlives agents.
func startCloud(t *testing.T, img *image) (*cloud.Client, string) {
	t.Helper()
	c := &container{}
	cmd := exec.Command(filepath.Join(img.root, "ko-app/fairlead"), "inmemory", "--listen", "127.0.0.1:0", "--log-format", "json")
	cmd.Stderr = c
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var url string
	eventually(t, "the cloud serves", func() bool {
		m := regexp.MustCompile(`"url":"(http://[^"]+)"`).FindStringSubmatch(c.said())
		if m != nil {
			url = m[1]
		}
		return m != nil
	})
	client, err := cloud.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	return client, url
}

// leads reports whether the agent leads, and fails the test where it is not of
// that version.
func leads(t *testing.T, c *container, version string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return false
	}
	if !regexp.MustCompile(`(?m)^fairlead_build_info\{.*version="` + regexp.QuoteMeta(version) + `"`).Match(b) {
		t.Fatalf("the agent is not of version %s", version)
	}
	return regexp.MustCompile(`(?m)^fairlead_leader 1$`).Match(b)
}

// planIsEmpty waits until the program of an image would change nothing.
func (s *site) planIsEmpty(img *image, cloudURL string) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
		s.t.Fatal(err)
	}
	var out []byte
	defer func() {
		if s.t.Failed() {
			s.t.Logf("the plan: %s", out)
		}
	}()
	eventually(s.t, "the plan is empty", func() (empty bool) {
		cmd := exec.CommandContext(s.t.Context(), filepath.Join(img.root, "ko-app/fairlead"), "plan", s.url,
			"--username", "bot", "--password-file", file, "--secrets", "kubernetes:"+s.k.Kubeconfig, "--inmemory-url", cloudURL)
		var err error
		out, err = cmd.CombinedOutput()
		return err == nil
	})
}

// forgetPlace takes the place out of owner.yaml on the status branch.
func (s *site) forgetPlace(owner string) {
	s.t.Helper()
	without := regexp.MustCompile(`(?m)^place: .*\n`).ReplaceAllString(owner, "")
	if without == owner {
		s.t.Fatalf("owner.yaml has no place: %s", owner)
	}
	dir := s.t.TempDir()
	mustGit(s.t, dir, "clone", "--quiet", "--branch", "fairlead/status", s.bare, ".")
	if err := os.WriteFile(filepath.Join(dir, "owner.yaml"), []byte(without), 0o600); err != nil {
		s.t.Fatal(err)
	}
	mustGit(s.t, dir, "commit", "--quiet", "--all", "--message", "owner.yaml of before")
	mustGit(s.t, dir, "push", "--quiet", "origin", "fairlead/status")
}
