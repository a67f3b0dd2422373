package adopt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// A trial is a stack whose cluster is adopted and given back again and again.
type trial struct {
	*stack
	adopt []string
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	s := newStack(t)
	s.serveGit()
	return &trial{s, append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, s.flags()...)}
}

// run adopts the cluster with flags.
func (x *trial) run(want int, flags ...string) string {
	x.Helper()
	return x.fairlead(want, append(append([]string{}, x.adopt...), flags...)...)
}

// back gives the cluster back and removes what the adoption left.
func (x *trial) back() {
	x.Helper()
	x.run(0, "--undo")
	if x.paused() || len(x.taggedObjects()) > 0 {
		x.Fatalf("given back: paused there %t, marks on %q", x.paused(), x.taggedObjects())
	}
	for _, folder := range []string{filepath.Join(x.folder, "clusters"), x.secrets} {
		if err := os.RemoveAll(folder); err != nil {
			x.Fatal(err)
		}
	}
}

// taggedObjects names the objects that carry ownership tags.
func (x *trial) taggedObjects() []string {
	var out []string
	for _, k := range stackKinds {
		for _, o := range x.stack.cloud.Objects(k) {
			if carriesTag(o) {
				out = append(out, string(k)+" "+o.String("name"))
			}
		}
	}
	return out
}

// credential is the Secret in the folder. It is empty where there is none.
func (x *trial) credential() string {
	x.Helper()
	data, err := os.ReadFile(filepath.Join(x.folder, "clusters", x.ns, "eu-1", "secret-cloud-config.yaml"))
	if err != nil && !os.IsNotExist(err) {
		x.Fatal(err)
	}
	return string(data)
}

func (x *trial) plan(want int) string {
	x.Helper()
	return x.fairlead(want, append([]string{"plan", x.folder}, x.flags()...)...)
}

func (x *trial) stored() string {
	x.Helper()
	return x.fairlead(0, "secrets", "list", "--secrets", x.secrets)
}

// Credentials are put where --provider-credentials says. The plan that reads them there is
// empty.
func TestProviderCredentials(t *testing.T) {
	x := newTrial(t)
	name := x.ns + "/cloud-config"
	{ // to the store
		x.run(0)
		if x.credential() != "" || !strings.Contains(x.stored(), "cloud-config") {
			t.Errorf("in the folder %q, in the store %q", x.credential(), x.stored())
		}
		x.plan(0)
		x.back()
	}
	{ // to Git, encrypted for the store
		x.run(0, "--provider-credentials", "git")
		if c := x.credential(); !strings.Contains(c, "ENC[") || !strings.Contains(c, "recipient: age1") || strings.Contains(c, "alice") || strings.Contains(x.stored(), "cloud-config") {
			t.Errorf("in the folder %q, in the store %q", c, x.stored())
		}
		x.plan(0)
		x.back()
	}
	{ // to Git, encrypted for nobody
		out := x.run(1, "--provider-credentials", "git", "--secrets", "kubernetes:"+x.management.kube.Kubeconfig)
		if !strings.Contains(out, "Secret "+name+": has to go to Git, and there is no recipient to encrypt it for (name an age recipient with --age-recipient") || x.paused() || len(x.taggedObjects()) > 0 {
			t.Errorf("paused there %t, marks on %q: %s", x.paused(), x.taggedObjects(), out)
		}
	}
	{ // to nowhere
		out := x.run(0, "--provider-credentials", "none")
		if set := "fairlead secrets set " + name + " --from-file clouds.yaml=FILE"; !strings.Contains(out, set) || x.credential() != "" || strings.Contains(x.stored(), "cloud-config") {
			t.Errorf("in the folder %q, in the store %q: %s", x.credential(), x.stored(), out)
		}
		x.plan(1) // nobody has stored the credential yet
		file := filepath.Join(t.TempDir(), "clouds.yaml")
		if err := os.WriteFile(file, x.stack.cloud.CloudsYAML(x.cloudURL, "alice"), 0o600); err != nil {
			t.Fatal(err)
		}
		x.fairlead(0, "secrets", "set", name, "--from-file", "clouds.yaml="+file, "--secrets", x.secrets)
		x.plan(0)
		x.back()
	}
}

// Drift stops an adoption while the manifests are paused, unless people accept it.
func TestAcceptDrift(t *testing.T) {
	x := newTrial(t)
	group := x.capo.groups["worker"]
	x.stack.cloud.Add("alpha", ost.SecurityGroupRules, ost.Object{
		"security_group_id": group, "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": 8080, "port_range_max": 8080, "remote_ip_prefix": "0.0.0.0/0",
	})
	out := x.run(1)
	for _, want := range []string{"the plan is not empty: Fairlead would ", "(--accept-drift lets it)", "stays paused in the management cluster, and no one manages it: run the command again, or undo it with --undo"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q: %s", want, out)
		}
	}
	if c := x.inFleet(); c == nil || !c.Paused || !x.paused() {
		t.Errorf("in the fleet %v, paused there %t, want it held on both sides", c, x.paused())
	}
	out = x.run(0, "--accept-drift")
	if c := x.inFleet(); c == nil || c.Paused || !strings.Contains(out, "note     Fairlead will then ") {
		t.Errorf("accepted: in the fleet %v: %s", c, out)
	}
	x.back()
}

// Undo is refused while an agent acts on the cluster. It works once the status branch says
// that the cluster is paused.
func TestUndoAsksTheStatusBranch(t *testing.T) {
	x := newTrial(t)
	x.run(0)
	tagged := x.taggedObjects()
	if out := x.fairlead(64, without(append(x.adopt, "--undo"), "--source")...); !strings.Contains(out, "--source") {
		t.Errorf("without a source: %s", out)
	}
	x.push("adopted")
	x.agent(x.flags()...)
	x.waitProvisioned(3)
	out := x.run(1, "--undo")
	if !strings.Contains(out, "the agent test keeps it by now (pause it first: put spec.paused: true") || !x.paused() || len(x.taggedObjects()) != len(tagged) {
		t.Errorf("paused there %t, %d of %d marks: %s", x.paused(), len(x.taggedObjects()), len(tagged), out)
	}
	file := filepath.Join(x.folder, "clusters", x.ns, "eu-1", "cluster.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), "\nspec:\n", "\nspec:\n  paused: true\n", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	x.push("paused")
	x.until("the status branch says that it is paused", func() bool {
		for _, c := range x.report().Conditions {
			if c.Type == "Paused" {
				return c.Status == "True"
			}
		}
		return false
	})
	x.back()
}

// without removes a flag and its value from a command line.
func without(args []string, flag string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == flag {
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}
