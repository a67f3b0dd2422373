package decode

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Coverage returns, in Markdown, each field of each version of each kind that d
// knows and whether it is honoured. It is made from the Go types and the same
// tables that decide on refusal.
func (d *Decoder) Coverage() []byte {
	var b strings.Builder
	b.WriteString(`# What of the manifests is honoured

Made by ` + "`go generate ./render/decode`" + ` from the tables that the decoder itself uses. Every field of every kind
is here. **Honoured** fields change what Fairlead does, in part where a note says so. **Refused** fields are a problem
that names them. Fields with **no effect** may be present and are not settings. Everything else is an unknown field, and
a problem. Objects of other kinds are refused.

Two Clusters of an overlay must not refer to one control plane or one infrastructure object: the second Cluster has a
problem. An object in the folder of an overlay that changes no cluster is a warning: a control plane or template that
nothing refers to, and a MachineHealthCheck, MachineDrainRule, ClusterResourceSet or HelmChartProxy that selects
nothing. Objects of bases and of classes are no warning, since other overlays may use them.

A value has the bounds of upstream's resource definitions: smallest and largest numbers, lengths, patterns, values,
required fields, and keys that a list has once. Those of each field are in ` + "`render/decode/bounds_table.go`" + `. Fairlead
takes more than upstream in these places:

| what | why |
|---|---|
| an empty text, list or mapping of a field that is not required | it asks for nothing, as a field that is not there |
| a boolean that is required and not there | it is false |
| ` + "`spec.selector` and the type of a rollout strategy that are not there" + ` | upstream's webhooks fill them in as well |
| the group and kind of an IPPool of Metal3 that are not there in v1beta1 | v1beta2 fills them in as well |
| an argument that is there twice in ` + "`extraArgs` or `kubeletExtraArgs`" + ` of v1beta2 | kubeadm takes it: two issuers of service accounts, while one takes over |
| gzip in files of Ignition | Ignition unpacks it |

It refuses more than upstream in these:

| what | why |
|---|---|
| a Cluster without infrastructure or control plane, or with half an endpoint | nothing completes it by hand |
| a MachineDeployment without a version | Fairlead installs what the version says |
| a negative ` + "`maxUnavailable`" + `, or a range of unhealthy machines such as ` + "`[3-1]`" + ` | no number of machines is meant |
| content of a file that is not in base64 or gzip as its ` + "`encoding`" + ` says | cloud-init would write no file of the machine, and the machine would never join |
| ` + "`certificatesExpiryDays`" + ` of as many days as certificates are valid | every machine would be replaced again and again |
| conditions of static pods and etcd members in a MachineHealthCheck | they are reported for the control plane as a whole |

`)
	d.countsTable(&b)
	common := commonFields()
	gks := slices.Sorted(maps.Keys(d.kinds))
	for _, gk := range gks {
		k := d.kinds[gk]
		for _, version := range k.versions {
			title := k.name + " " + version
			fmt.Fprintf(&b, "- [%s](#%s)\n", title, strings.ReplaceAll(strings.ToLower(title), " ", "-"))
		}
	}
	fmt.Fprintf(&b, "- [kinds that are refused](#kinds-that-are-refused)\n\n## All kinds\n\n")
	table(&b, common)
	for _, gk := range gks {
		k := d.kinds[gk]
		for _, version := range k.versions {
			apiVersion := version
			if k.group != "" {
				apiVersion = k.group + "/" + version
			}
			fmt.Fprintf(&b, "\n## %s %s\n\n`%s`\n\n", k.name, version, apiVersion)
			table(&b, slices.DeleteFunc(k.coverage(version), func(r coverageRow) bool { return slices.Contains(common, r) }))
		}
	}
	b.WriteString("\n## Kinds that are refused\n\nEach is a problem that says what to do instead. Of Cluster API's groups, so are all others.\n\n| kind | group | instead |\n|---|---|---|\n")
	refused := unsupported()
	for _, gk := range slices.Sorted(maps.Keys(refused)) {
		name, group, _ := strings.Cut(gk, ".")
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", name, group, refused[gk])
	}
	return []byte(b.String())
}

// commonFields are the rows of what all kinds have in common.
func commonFields() []coverageRow {
	return (&kind{
		new:     func(string) any { return &objectMeta{} },
		refused: metadataRefused(nil), unused: serverFields(),
		limited: map[string]string{"metadata.annotations": "as the kind says", "metadata.labels": "as the kind says"},
	}).coverage("")
}

// objectMeta is what all kinds have in common.
type objectMeta struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct{} `json:"status"`
}

func table(b *strings.Builder, rows []coverageRow) {
	b.WriteString("| field | | note |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", r.path, r.status, strings.ReplaceAll(r.note, "|", `\|`))
	}
}

// A coverageRow says of one field whether it is honoured.
type coverageRow struct{ path, status, note string }

// coverage lists the fields of a version in the order of the source. A field
// that is refused or has no effect stands for all below it. What several providers
// choose by has the rows of the provider that it chooses.
func (k *kind) coverage(version string) []coverageRow {
	var out []coverageRow
	for _, r := range k.ownCoverage(version) {
		i := slices.IndexFunc(k.others, func(o *kind) bool { return o.choice == r.path && slices.Contains(o.versions, version) })
		if i < 0 {
			out = append(out, r)
			continue
		}
		for _, other := range k.others[i].ownCoverage(version) {
			if within(other.path, r.path) {
				out = append(out, other)
			}
		}
	}
	return out
}

// ownCoverage is coverage without other providers.
func (k *kind) ownCoverage(version string) []coverageRow {
	var rows []coverageRow
	var within []reflect.Type // a schema holds schemas
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		note, limited := k.limited[path]
		if why, ok := k.refused[path]; ok {
			rows = append(rows, coverageRow{path, "refused", why})
			return
		}
		if why, ok := k.unused[path]; ok && !limited {
			rows = append(rows, coverageRow{path, "no effect", why})
			return
		}
		t = elem(t)
		fields := t.Kind() == reflect.Struct && !isLeaf(t)
		again := slices.Contains(within, t)
		if again && note == "" {
			note = "holds what holds it"
		}
		if !fields || limited || again {
			rows = append(rows, coverageRow{path, "honoured", note})
		}
		if !fields || again {
			return
		}
		within = append(within, t)
		for _, f := range fieldsOf(t) {
			walk(f.typ, join(path, f.name))
		}
		within = within[:len(within)-1]
	}
	for _, f := range fieldsOf(deref(reflect.TypeOf(k.new(version)))) {
		walk(f.typ, f.name)
	}
	return rows
}
