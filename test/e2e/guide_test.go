package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// editor is who puts their hosts into the example, as docs/guides/infrastructure/hosts.md asks for.
const editor = `#!/bin/sh
set -e
test "$1 $2" = "pools/hall-1.yaml clusters/dev/small/values.yaml"
awk '/knownHosts: \|/ { print; while ((getline line < "'"$HOME"'/known_hosts") > 0) print "      " line; next } /^ *203\.0\.113\./ { next } /name: rack/ && !/203\.0\.113\.1[13]/ { next } { print }' "$1" > "$1.new"
sed -e "s/203.0.113.11/$API/" -e "s/203.0.113.13/$WORKER/" "$1.new" > "$1"
rm "$1.new"
sed -i -e "s/203.0.113.11/$API/" "$2"
echo "  KUBERNETES_VERSION: $VERSION" >> "$2"
`

// prepare makes machines of the lab hosts as the guide expects them: they share
// their kernel, which no host may load modules into or set, and their containerd is
// set up for that.
const prepare = `set -e
for program in modprobe sysctl swapoff reboot; do
	printf '#!/bin/sh\nexit 0\n' > /usr/local/sbin/$program
	chmod 755 /usr/local/sbin/$program
done
ssh-keygen -y -f /etc/ssh/ssh_host_ed25519_key > /etc/ssh/ssh_host_ed25519_key.pub
echo "# In place of SystemdCgroup = true" >> /etc/containerd/config.toml
`

// authorize lets in whom the person is known by so far.
const authorize = `
install -d -m 700 -o fairlead -g fairlead /home/fairlead/.ssh
install -m 600 -o fairlead -g fairlead /root/.ssh/authorized_keys /home/fairlead/.ssh/
`

var (
	// block is what the guide has between fences.
	block = regexp.MustCompile("(?ms)^( *)```sh\n(.*?)^ *```$")
	// network is the manifest of somebody else that it applies.
	network = regexp.MustCompile(`https://\S+/kube-flannel\.yml`)
)

// docs/guides/infrastructure/hosts.md, from empty hosts to nodes that are ready, as it is written.
func TestGuide(t *testing.T) {
	w := newWorld(t, "", "first", "second")
	api, worker := w.lab.Machines()[0], w.lab.Machines()[1]
	text, err := os.ReadFile("../../docs/guides/infrastructure/hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, strings.ReplaceAll("\n"+b[2], "\n"+b[1], "\n"))
	}
	take := func(part string) string {
		t.Helper()
		for i, b := range blocks {
			if strings.Contains(b, part) {
				blocks = append(blocks[:i:i], blocks[i+1:]...)
				return strings.NewReplacer("203.0.113.11", api.Address, "203.0.113.12", worker.Address,
					"https://git.example.com/fleet.git", w.source).Replace(b)
			}
		}
		t.Fatalf("docs/guides/infrastructure/hosts.md has no block with %q", part)
		return ""
	}
	user := take("useradd")
	for _, m := range w.lab.Machines() {
		if _, err := m.Exec(w.ctx, "sh", "-c", prepare+user+authorize); err != nil {
			t.Fatal(err)
		}
	}
	g := w.guide(api.Address, worker.Address)
	g.run(take("ssh-copy-id"))
	g.run(take("fairlead secrets set"))
	g.hostKeys(take("ssh-keyscan"))
	fleetBlock, agentLine, ok := strings.Cut(take("fleet-examples/hosts"), "fairlead agent ")
	if !ok {
		t.Fatal("the block with the fleet starts no agent any more")
	}
	// That there is something to do is an exit code of its own.
	g.run(regexp.MustCompile(`(?m)^(fairlead plan \.) .*$`).ReplaceAllString(fleetBlock, "$1 || test $$? = 2"))
	w.pushed = time.Now()
	g.agent(agentLine)

	after := take("fairlead tree")
	w.wait("two nodes", func() (bool, string) {
		out, err := g.try(after + "test $(kubectl --kubeconfig small.kubeconfig get nodes -o name | wc -l) = 2\n")
		return err == nil, out
	})
	w.measure("guide: push to two nodes %s", since(w.pushed))
	cni := filepath.Join(g.dir, "cni.yaml")
	g.write("cni.yaml", cluster{Endpoint: api.Address}.CNI())
	g.run(network.ReplaceAllString(take("kube-flannel"), cni))
	w.wait("Provisioned", func() (bool, string) {
		s, err := w.status()
		if err != nil {
			return false, err.Error()
		}
		r, _ := s.Cluster(fleet.Key{Namespace: "dev", Name: "small"})
		return r.Report.Phase == fleet.PhaseProvisioned, describe(r.Report)
	})
	w.measure("guide: push to Provisioned %s", since(w.pushed))
	if out := g.run(take("fairlead orphans")); strings.Contains(out, "lab") {
		t.Errorf("orphans of a cluster that is in Git: %s", out)
	}
}

// A guide is somebody who follows it, in a folder that is their home.
type guide struct {
	w   *world
	dir string // home
	cwd string
	env []string
}

func (w *world) guide(api, worker string) *guide {
	w.t.Helper()
	g := &guide{w: w, dir: w.t.TempDir()}
	g.cwd = g.dir
	g.write("editor", editor)
	for name, target := range map[string]string{"fairlead": w.binary, "kubectl": w.lab.Kubectl()} {
		g.write("bin/"+name, "#!/bin/sh\nexec "+target+` "$@"`+"\n")
	}
	// Who lets a key in has another one, which is that of the lab; with `-i` it is tried whether the first is in.
	g.write("bin/ssh", fmt.Sprintf(`#!/bin/sh
key="-i %s"
case " $* " in *" -i "*) key= ;; esac
exec /usr/bin/ssh -F none $key -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=%s/.known "$@"
`, w.lab.Key, g.dir))
	if err := os.Mkdir(filepath.Join(g.dir, ".ssh"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	g.example()
	g.env = []string{
		"HOME=" + g.dir, "PATH=" + g.dir + "/bin:" + os.Getenv("PATH"), "EDITOR=" + g.dir + "/editor", "FAIRLEAD_SECRETS=" + g.dir + "/fairlead-secrets",
		"API=" + api, "WORKER=" + worker, "VERSION=" + w.lab.Versions()[0], "REPOSITORY=" + w.source,
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com",
	}
	return g
}

// example copies the example. Hosts with control groups of version 1 are an error
// to kubeadm, which has to be told.
func (g *guide) example() {
	g.w.t.Helper()
	to := filepath.Join(g.dir, "fleet-examples", "hosts")
	if err := os.CopyFS(to, os.DirFS("../../fleet-examples/hosts")); err != nil {
		g.w.t.Fatal(err)
	}
	for _, name := range []string{"control-plane.yaml", "workers.yaml"} {
		file := filepath.Join(to, "bases/cluster", name)
		text, err := os.ReadFile(file)
		if err != nil {
			g.w.t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^( *)name: "\{\{ local_hostname \}\}"$`)
		text2 := found.ReplaceAll(text, []byte("$0\n${1}ignorePreflightErrors: [SystemVerification]"))
		if bytes.Equal(text, text2) {
			g.w.t.Fatalf("%s names no Node any more", file)
		}
		if err := os.WriteFile(file, text2, 0o600); err != nil {
			g.w.t.Fatal(err)
		}
	}
}

func (g *guide) write(name, text string) {
	g.w.t.Helper()
	file := filepath.Join(g.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		g.w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		g.w.t.Fatal(err)
	}
}

// try runs a block where the one before left off.
func (g *guide) try(script string) (string, error) {
	var said bytes.Buffer
	cmd := exec.CommandContext(g.w.ctx, "bash", "-euo", "pipefail", "-c", script+"\npwd > $HOME/.cwd\n")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.cwd, g.env, &said, &said
	err := cmd.Run()
	if cwd, err := os.ReadFile(filepath.Join(g.dir, ".cwd")); err == nil {
		g.cwd = strings.TrimSpace(string(cwd))
	}
	return said.String(), err
}

func (g *guide) run(script string) string {
	g.w.t.Helper()
	out, err := g.try(script)
	if err != nil {
		g.w.t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return out
}

// hostKeys puts what the first line of a block sees of the hosts into known_hosts,
// if it is what the second says on each host.
func (g *guide) hostKeys(script string) {
	g.w.t.Helper()
	lines := strings.Split(strings.TrimSpace(script), "\n")
	for _, m := range g.w.lab.Machines() {
		scan, _, _ := strings.Cut(strings.Replace(lines[0], g.w.lab.Machines()[0].Address, m.Address, 1), "#")
		onHost, _, _ := strings.Cut(lines[1], "#")
		seen := g.run(scan + " 2>/dev/null | tee -a known_hosts.tmp | ssh-keygen -lf -")
		said, err := m.Exec(g.w.ctx, "sh", "-c", onHost)
		if err != nil {
			g.w.t.Fatal(err)
		}
		if s, h := strings.Fields(seen), strings.Fields(said); len(s) < 2 || len(h) < 2 || s[1] != h[1] {
			g.w.t.Fatalf("%s is seen as %q and says %q", m.Name, seen, said)
		}
	}
	g.run("mv known_hosts.tmp known_hosts")
}

// agent starts the agent, and leaves it running.
func (g *guide) agent(args string) {
	g.w.t.Helper()
	log, err := os.OpenFile(filepath.Join(g.w.logs, "agent.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		g.w.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command("bash", "-c", "exec fairlead agent "+args)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.cwd, g.env, log, log
	g.w.background(cmd)
}
