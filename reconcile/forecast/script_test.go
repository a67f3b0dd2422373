package forecast

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/reconcile/plan"
)

// TestScripts runs the scripts in testdata. "git" says what Git asks for, a line each;
// "rest" makes the cluster as it is; "seen" changes what is seen of it; "forecast" tells what
// comes next. Machines are written pool/index@version; without a version, they have that of
// Git.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := newScript()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			each := func(f func(word string, w words) error) {
				for line := range strings.Lines(d.Input) {
					fields := strings.Fields(line)
					if len(fields) == 0 {
						continue
					}
					if err := f(fields[0], parse(fields[1:])); err != nil {
						d.Fatalf(t, "%s: %v", strings.TrimSpace(line), err)
					}
				}
			}
			switch d.Cmd {
			case "git":
				s.in.Desired = empty()
				each(s.git)
			case "rest":
				if err := s.rest(); err != nil {
					d.Fatalf(t, "%v", err)
				}
			case "seen":
				each(s.seen)
			case "forecast":
				told, err := s.forecast()
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return told
			default:
				d.Fatalf(t, "no command %s", d.Cmd)
			}
			return ""
		})
	})
}

// words are those of a line: the first without =, and the key=value pairs.
type words map[string]string

func parse(fields []string) words {
	w := words{}
	for _, f := range fields {
		k, v, ok := strings.Cut(f, "=")
		if !ok && w[""] == "" {
			w[""] = f
		}
		w[k] = v
	}
	return w
}

func (w words) is(k string) bool { _, ok := w[k]; return ok }

func (w words) number(k string, otherwise int) int {
	if n, err := strconv.Atoi(w[k]); err == nil {
		return n
	}
	return otherwise
}

func (w words) list(k string) []string {
	return strings.FieldsFunc(w[k], func(r rune) bool { return r == ',' })
}

type script struct{ in plan.Input }

func empty() *fleet.Cluster {
	return &fleet.Cluster{Fleet: "f", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "sim"}
}

// newScript returns the script of a cluster of which there is nothing.
func newScript() *script {
	s := &script{in: plan.Input{Desired: empty(), Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}}
	s.in.Observed.Secrets.Missing = fleet.Authorities()
	return s
}

func template(version, variant string) fleet.TemplateHash {
	return fleet.TemplateHash("1-" + version + variant)
}

// input returns what a plan is made of, where kubeadm says what is due.
func (s *script) input() plan.Input {
	in := s.in
	in.Observed.Distribution = providers.Facts(kubeadm.New(nil), in.Desired, &in.Observed)
	return in
}

// rest carries plans out on a model, from nothing, until there is nothing left to do. What
// the model made becomes what is there: under ids of the infrastructure, and older than the
// model makes it.
func (s *script) rest() error {
	desired := s.in.Desired
	s.in = newScript().in
	s.in.Desired = desired
	m := newModel(s.input())
	for range 1000 {
		p := plan.Compute(m.input())
		m.memory = p.Memory
		if len(p.Actions) == 0 && !p.NeedEtcd {
			s.in.Observed, s.in.Memory = m.observed, m.memory
			s.in.Observed.Workload.Applied, s.in.Observed.Workload.Made = inLine(s.in.Desired), &fleet.Made{Membership: fleet.MembershipPerMachine}
			s.rename()
			return nil
		}
		for _, a := range p.Actions {
			m.carryOut(p.Desired, a)
		}
		if p.NeedEtcd {
			m.listMembers()
		}
	}
	return fmt.Errorf("the cluster does not come to rest")
}

// inLine is a kubeadm-config that is as c asks for.
func inLine(c *fleet.Cluster) *fleet.Applied {
	config, addons := kubeadm.Marks(&c.ControlPlane)
	return &fleet.Applied{Version: c.ControlPlane.Version, Marks: map[string]string{"SyncKubeadmConfig": config, "SyncAddons": addons}}
}

func (s *script) rename() {
	o := &s.in.Observed
	for i := range o.Infrastructure.Machines {
		m := &o.Infrastructure.Machines[i]
		id := fleet.ProviderID("sim://" + string(m.Name))
		if j := slices.IndexFunc(o.Workload.Nodes, func(n fleet.Node) bool { return n.ProviderID == m.ProviderID }); j >= 0 {
			o.Workload.Nodes[j].ProviderID = id
		}
		m.ProviderID, m.Created, m.Origin.Made = id, s.in.Now.Add(-time.Hour), s.in.Now.Add(-time.Hour)
	}
}

// name returns the name of pool/index@version.
func (s *script) name(ref string) fleet.MachineName {
	of, rest, _ := strings.Cut(ref, "/")
	index, version, _ := strings.Cut(rest, "@")
	i, _ := strconv.Atoi(index)
	p, _ := s.in.Desired.Pool(fleet.PoolName(of))
	if version != "" {
		p = fleet.Pool{Name: fleet.PoolName(of), Template: template(version, "")}
	}
	return fleet.NewMachineName(s.in.Desired.Key, p.Name, p.Template, i)
}

// readable writes names of machines as scripts do.
func (s *script) readable(text string) string {
	for _, of := range []fleet.PoolName{"cp", "md", "a", "b"} {
		for _, version := range []string{"v1.31.1", "v1.32.1", "v1.33.4", "v1.34.2", "v1.34.2x", "v1.35.0"} {
			for i := range 8 {
				ref := fmt.Sprintf("%s/%d@%s", of, i, version)
				text = strings.ReplaceAll(text, string(s.name(ref)), ref)
			}
		}
	}
	return text
}

// forecast tells what comes next. It is a function of its input: that stays as it is, and
// has the same forecast once more.
func (s *script) forecast() (string, error) {
	in := s.input()
	before, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	f := Of(in)
	again, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(before, again) || !reflect.DeepEqual(Of(in), f) {
		return "", fmt.Errorf("the input is not as it was before:\n%s\n%s", before, again)
	}
	return s.describe(f), nil
}

func (s *script) describe(f Forecast) string {
	var b strings.Builder
	for _, c := range f.Changes {
		b.WriteString(string(c.Kind))
		for _, of := range []string{string(c.Machine), c.Addon} {
			if of != "" {
				b.WriteString(" " + of)
			}
		}
		if c.By != "" {
			fmt.Fprintf(&b, " by %s", c.By)
		}
		fmt.Fprintf(&b, ": %s\n", c.Reason)
	}
	if len(f.Changes) == 0 {
		b.WriteString("nothing\n")
	}
	for _, n := range f.Notes {
		fmt.Fprintf(&b, "note %s\n", n)
	}
	return s.readable(b.String())
}
