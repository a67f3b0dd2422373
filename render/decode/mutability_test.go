package decode

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// A mutability says of fields what happens when Git changes them on a cluster that
// runs: answers by "Kind version", then by path.
type mutability map[string]map[string]string

func (m mutability) add(k *kind, version, path, answer string) {
	title := k.name + " " + version
	if m[title] == nil {
		m[title] = make(map[string]string)
	}
	m[title][path] = answer
}

// keepMutability keeps docs/reference/mutability.md in line with core, the answers for the
// kinds of Cluster API, and with the tables for the others. Each field that is
// honoured has an answer, and each entry of a table is for some field.
func keepMutability(t *testing.T, core mutability) {
	d := New("", registered(t))
	used := make(map[string]bool)
	for _, k := range d.kinds {
		for _, version := range k.versions {
			for _, path := range honoured(k, version) {
				if core[k.name+" "+version][path] != "" {
					continue
				}
				answer, entry := reviewed(k, path)
				if of, ok := strings.CutPrefix(path, "spec.template."); ok && k.role == fleet.ControlPlaneTemplateKind { // copied as it is
					answer = cmp.Or(core[strings.TrimSuffix(k.name, "Template")+" "+version][of], answer)
				}
				if answer == "" {
					t.Errorf("%s %s %s: nothing says what happens when it changes: add it to reviewedAnswers", k.name, version, path)
				}
				used[entry] = true
				core.add(k, version, path, answer)
			}
		}
	}
	for entry := range reviewedAnswers() {
		if !used[entry] {
			t.Errorf("the answer for %q is for no field that is honoured", entry)
		}
	}
	const file = "../../docs/reference/mutability.md"
	roles := make(map[string]fleet.KindRole)
	for _, k := range d.kinds {
		roles[k.name] = k.role
	}
	got := core.markdown(roles)
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("docs/reference/mutability.md is out of date: run go generate ./render/decode\n-want +got:\n%s", diff)
	}
}

// answer says what follows from a change that was decoded: from what differs of the
// cluster.
func (m mutation) answer(t *testing.T, path string, before, after outcome) string {
	if m.problem != "" {
		return fmt.Sprintf("refused where it does not fit the rest: `%s`", m.problem)
	}
	var out []string
	found := effects(before.clusters, after.clusters)
	for _, e := range found {
		if (e == "Cluster.Topology" || e == "Cluster.Companions") && len(found) > 1 {
			continue // it says how the rest comes about
		}
		a := answerTo(e, path)
		if a == "" {
			t.Errorf("%s changes %s: nothing says what happens then: add it to answerTo", path, e)
		}
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	if keepsFlags(before.clusters, after.clusters) {
		out = append(out, "refused: servers keep the value that the cluster was made with, and the cluster says so")
	}
	return strings.Join(out, "; ")
}

const (
	inPlace  = "in place"
	replaces = "replaces machines"
)

// answerTo says what happens when a field of fleet.Cluster or of fleet.Pool changes.
func answerTo(effect, path string) string {
	switch effect {
	case "Template", "TemplateMachinePool":
		return replaces
	case "Pool.FailureDomains":
		return "next machines"
	case "Pool.APIPort", "Pool.JoinedAPIPort":
		return "next machines: what leads to an API server leads to where that machine listens"
	case "Pool.Former":
		return "machines with a template hash of an older schema are replaced"
	case "TemplateMachineSet":
		return "next machines: a MachineSet that stands alone replaces none"
	case "TemplateMachine":
		return "told: the Machine is out of date, until somebody asks for its replacement"
	case "pools":
		return "another pool: its machines are made, those of the former one removed"
	case "Pool.Bootstrap":
		if strings.Contains(path, ".dns.") {
			return "in place: CoreDNS of the cluster; of workers it is for nothing"
		}
		if strings.HasSuffix(path, ".format") {
			return replaces // cloud-config, which the test names, is what none means
		}
		if strings.HasSuffix(path, ".containerLinuxConfig.strict") {
			return "nothing: it decides what is refused"
		}
		if strings.HasSuffix(path, ".serverConfig.disableCloudController") {
			return "nothing: servers alone run it"
		}
		if strings.Contains(path, ".initConfiguration.") {
			return "nothing: the first machine of a cluster alone reads it"
		}
		if strings.Contains(path, ".clusterConfiguration.") {
			return "nothing: no worker reads it"
		}
		return "next machines: it is about the way into the cluster"
	case "Pool.Replicas":
		return "in place: machines are made, or drained and removed"
	case "Pool.NamePattern":
		return "next machines: those that are there keep their names"
	case "Pool.RolloutAfter", "Pool.CertificatesExpiryDays":
		return "replaces machines, those that it is about, when it is time"
	case "Cluster.Network":
		if strings.HasSuffix(path, "apiServerPort") {
			return "refused on OpenStack, with a problem; else as controlPlaneEndpoint"
		}
		return "refused: the cluster keeps what it was made with, and says so"
	case "Cluster.Endpoint":
		return "in place: kubeconfigs lead there from then on; machines keep what they joined by"
	case "Cluster.Hosted":
		switch {
		case strings.Contains(path, "controlPlaneEndpoint"):
			return "next machines: those that are there keep what they joined by"
		case strings.Contains(path, "kubeconfigRef"):
			return "in place: with the next look"
		}
		return "in place: a pool that is newer is refused"
	case "Cluster.Reboots":
		return "in place: for reboots that come"
	case "Cluster.Infrastructure":
		return "in place: the name is for nothing, what it names counts"
	case "Pool.Labels", "Pool.Annotations", "Pool.Taints":
		return "in place: on the Nodes"
	case "Pool.ReadinessGates", "Pool.DeletionOrder", "Pool.MinReadySeconds", "Pool.NodeDrainTimeoutSeconds", "Pool.NodeVolumeDetachTimeoutSeconds",
		"Pool.Remediation", "Pool.MaxRemediations", "Pool.MaxSurge", "Pool.MaxUnavailable", "Pool.Strategy", "Pool.Paused",
		"Cluster.DrainRules", "Cluster.HealthChecks", "Cluster.ResourceSets", "Cluster.AvailabilityGates", "Cluster.Labels", "Cluster.Paused":
		return inPlace
	}
	return ""
}

// effects returns what differs between the clusters: "Cluster.F" and "Pool.F" for
// fields, "Template" and the kind of a pool where machines are outdated, which
// counts more than the rest of its pool.
func effects(before, after []fleet.Cluster) []string {
	if len(before) != 1 || len(after) != 1 {
		return []string{"clusters"}
	}
	var out []string
	b, a := before[0], after[0]
	for _, x := range b.Pools() {
		y, ok := a.Pool(x.Name)
		switch {
		case !ok:
			out = append(out, "pools")
		case x.Template != y.Template && x.Role == fleet.RoleControlPlane:
			out = append(out, "Template")
		case x.Template != y.Template:
			out = append(out, "Template"+string(x.Kind))
		default:
			out = append(out, differing("Pool.", x, y)...)
		}
	}
	if len(a.Workers) != len(b.Workers) {
		out = append(out, "pools")
	}
	a.ControlPlane, b.ControlPlane, a.Workers, b.Workers = fleet.Pool{}, fleet.Pool{}, nil, nil
	out = append(out, differing("Cluster.", b, a)...)
	slices.Sort(out)
	return slices.Compact(out)
}

func differing(prefix string, a, b any) []string {
	var out []string
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			out = append(out, prefix+x.Type().Field(i).Name)
		}
	}
	return out
}

// reviewed returns the answer for a field of a kind whose mutations no test makes,
// and its place in the table: that of the longest path that leads to the field.
func reviewed(k *kind, path string) (answer, entry string) {
	if k.provider != "" && k.role == fleet.InfrastructureClusterTemplate {
		return "as the cluster that the class makes of it", ""
	}
	if k.role == fleet.InfrastructureMachinePoolTemplate {
		return "as the pool that the class makes of it", ""
	}
	if k.role == fleet.ControlPlaneTemplateKind || k.role == fleet.HostedControlPlaneTemplateKind {
		return "as the control plane that the class makes of it", ""
	}
	if strings.HasPrefix(path, "metadata.") && k.provider != "" {
		return "in place: no machine depends on it", ""
	}
	for e, a := range reviewedAnswers() {
		name, prefix, _ := strings.Cut(e, " ")
		if name == k.name && (prefix == path || strings.HasPrefix(path, prefix+".") || prefix == "") && len(e) >= len(entry) {
			answer, entry = a, e
		}
	}
	switch {
	case answer != "":
	case k.role == fleet.InfrastructureMachineTemplate, k.ownMachines:
		return replaces, "" // all of its spec is in the template's hash but what Hashed leaves out
	case k.role == fleet.InfrastructureMachine:
		return answerTo("TemplateMachine", path), ""
	}
	return answer, entry
}

// markdown lists the answers. Where all fields below one have the same, one row
// stands for them.
func (m mutability) markdown(roles map[string]fleet.KindRole) string {
	var b strings.Builder
	b.WriteString("# What can change, and what happens then\n\nMade by `go generate ./render/decode`. Each field that is [honoured](coverage.md), on a cluster that runs:\n\n" +
		"- **in place**: what is there changes, and no machine goes\n" +
		"- **replaces machines**: they are outdated, and are rolled\n" +
		"- **next machines**: existing ones do not change\n" +
		"- **refused** and **told**: what is there stays, and the cluster, or what reads the manifests, says what to do\n\n" +
		"Machines are compared by a hash of what they are made of. Its schema is the number that it begins with, in the tag `fairlead.dev/template` of a machine.\n" +
		"Schema 2 leaves out what a machine that joins is not made of, as Cluster API does. Schema 3 also leaves out how configurations with the same user data differ.\n" +
		"A machine of an older schema is compared by that one until it is replaced.\n\n" +
		"What user data has from elsewhere replaces no machine; next machines have it: the values of Secrets (`contentFrom`, `passwdFrom`), and the version of the control plane in files with the format `Template`.\n\n" +
		"A field that is written as `null`, `false`, an empty text, list or mapping is as one that is not there, except in the fields " + fieldList(meaningful()) + ": there it is another value, and replaces machines, as in Cluster API.\n" +
		"In `taints` of a node registration an empty list is no taint, and none is those of kubeadm. The order of keys and of lists with names is nothing.\n\n" +
		"A row stands for all fields below it that have no row of their own.\n" +
		"Where controllers or webhooks of Cluster API are known to do something else, the kind says so.\n")
	for _, title := range slices.SortedFunc(maps.Keys(m), func(x, y string) int {
		xn, xv, _ := strings.Cut(x, " ")
		yn, yv, _ := strings.Cut(y, " ")
		return cmp.Or(strings.Compare(xn, yn), strings.Compare(yv, xv))
	}) {
		name, _, _ := strings.Cut(title, " ")
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		if differs := upstream(name, roles[name]); differs != "" {
			fmt.Fprintf(&b, "Cluster API differs: %s\n\n", differs)
		}
		b.WriteString("| field | |\n|---|---|\n")
		m.rows(&b, m[title], "")
	}
	return b.String()
}

// upstream says where Cluster API's controllers do something else when a field of a kind changes;
// empty: no difference is known.
// Source: Cluster API, controlplane/kubeadm/pkg/filters.go and MachineTemplateUpToDate of
// MachineDeployments, and the webhooks of the kinds.
func upstream(name string, role fleet.KindRole) string {
	switch name {
	case "KubeadmControlPlane":
		return "the name of the machine template counts and its content does not, so that a renamed one replaces machines. " +
			"The order of arguments, files and taints, `false` that is written out, and feature gates that are on anyway count, too. " +
			"A machine that ran `kubeadm init` may match initConfiguration instead of joinConfiguration."
	case "MachineDeployment":
		return "the names of the templates count and their content does not, so that a renamed one replaces machines."
	case "MachinePool":
		return "the infrastructure provider decides what replaces machines."
	case "Machine", "KubeadmConfig", "KThreesConfig", "RKE2Config", "NodeadmConfig":
		return "a change of what a Machine was made from is not reported."
	case "Cluster":
		return "a change of clusterNetwork is taken, and next machines have it. Webhooks refuse that a Cluster of a class skips a minor version."
	}
	switch role {
	case fleet.InfrastructureMachineTemplate, fleet.BootstrapConfigTemplateKind:
		return "its name counts and its content does not: a change in place replaces no machine, or the webhook refuses it, and a renamed template replaces machines."
	case fleet.ControlPlaneKind:
		return "the name of the machine template counts and its content does not, so that a renamed one replaces machines."
	case fleet.ControlPlaneTemplateKind, fleet.HostedControlPlaneTemplateKind, fleet.InfrastructureClusterTemplate:
		return "webhooks refuse a change of most of these templates; a class refers to a new one instead."
	case fleet.InfrastructureMachine:
		return "a change of what a Machine was made from is not reported."
	case fleet.InfrastructureCluster:
		return "the webhook of the provider may refuse a change."
	}
	return ""
}

// fieldList returns the keys of m for a sentence.
func fieldList(m map[string]string) string {
	return "`" + strings.Join(slices.Sorted(maps.Keys(m)), "`, `") + "`"
}

// rows writes those of the fields below a path.
func (m mutability) rows(b *strings.Builder, answers map[string]string, below string) {
	groups := make(map[string][]string) // by the next part of the path
	for path := range answers {
		rest, ok := strings.CutPrefix(path, below)
		if !ok {
			continue
		}
		part, _, _ := strings.Cut(rest, ".")
		groups[part] = append(groups[part], path)
	}
	for _, part := range slices.Sorted(maps.Keys(groups)) {
		first := answers[groups[part][0]]
		if slices.ContainsFunc(groups[part], func(p string) bool { return answers[p] != first }) {
			if a, ok := answers[below+part]; ok {
				fmt.Fprintf(b, "| `%s` | %s |\n", below+part, a)
			}
			m.rows(b, answers, below+part+".")
			continue
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", below+part, strings.ReplaceAll(first, "|", `\|`))
	}
}
