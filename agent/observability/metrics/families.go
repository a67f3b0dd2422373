package metrics

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
)

// A family is the series of one name: gauges. Names and labels that begin with capi_ are those of Cluster API's configuration of
// kube-state-metrics and of the dashboards that come with it; labels that it lacks are added to
// *_info.
// Source: Cluster API, core/config/metrics and hack/observability.
type family struct {
	name, help string
	labels     []string
	each       func(show emit)
}

// A clusterFamily is a family by cluster.
type clusterFamily struct {
	name, help string
	labels     []string
	of         func(s *clusterState, show emit)
}

// over returns the series of clusters.
func (f clusterFamily) over(clusters []*clusterState) family {
	return family{f.name, f.help, f.labels, func(show emit) {
		for _, s := range clusters {
			f.of(s, show)
		}
	}}
}

// emit shows one series of a family: its value, and that of each label.
type emit func(v float64, labels ...string)

// ofClusters returns a family whose series are of clusters.
func ofClusters(name, help string, labels []string, of func(s *clusterState, show emit)) clusterFamily {
	return clusterFamily{name, help, append([]string{"namespace", "name"}, labels...), func(s *clusterState, show emit) {
		of(s, func(v float64, values ...string) {
			show(v, append([]string{s.report.Cluster.Namespace, s.report.Cluster.Name}, values...)...)
		})
	}}
}

// ofMachines returns a family whose series are of machines.
func ofMachines(name, help string, labels []string, of func(s *clusterState, m *fleet.MachineReport, show emit)) clusterFamily {
	return clusterFamily{"capi_machine_" + name, help, append([]string{"namespace", "name", "cluster_name"}, labels...), func(s *clusterState, show emit) {
		seen := make(map[fleet.MachineName]bool, len(s.report.Machines))
		for i := range s.report.Machines {
			m := &s.report.Machines[i]
			if seen[m.Machine.Name] { // a provider may have two of one name; a series may not
				continue
			}
			seen[m.Machine.Name] = true
			of(s, m, func(v float64, values ...string) {
				show(v, append([]string{s.report.Cluster.Namespace, string(m.Machine.Name), s.report.Cluster.Name}, values...)...)
			})
		}
	}}
}

// A poolKind is a kind of pool that has series: its prefix of them, and what its objects are called.
type poolKind struct {
	prefix, what string
	has          func(p fleet.PoolReport) bool
}

// ofPools returns a family whose series are of pools of a kind. The pool is that of Git; inGit
// says that there is one.
func ofPools(k poolKind, name, help string, labels []string, of func(s *clusterState, p fleet.PoolReport, pool fleet.Pool, inGit bool, show emit)) clusterFamily {
	return clusterFamily{k.prefix + "_" + name, strings.ReplaceAll(help, "POOL", k.what), append([]string{"namespace", "name", "cluster_name"}, labels...), func(s *clusterState, show emit) {
		for _, p := range s.report.Pools {
			if !k.has(p) {
				continue
			}
			pool, inGit := s.pass.Definition.Pool(p.Name)
			of(s, p, pool, inGit, func(v float64, values ...string) {
				show(v, append([]string{s.report.Cluster.Namespace, string(p.Name), s.report.Cluster.Name}, values...)...)
			})
		}
	}}
}

// writeFamilies writes families in the text format of Prometheus, which OpenMetrics reads as well,
// one after the other: nothing is kept of what is written.
// Source: Prometheus, docs/instrumenting/exposition_formats.
func writeFamilies(to io.Writer, families []family) error {
	w := bufio.NewWriterSize(to, 64<<10)
	var line []byte
	for _, f := range families {
		names, order := sortedLabels(f.labels)
		head := false
		show := func(v float64, values ...string) {
			if !head {
				head = true
				_, _ = w.WriteString("# HELP " + f.name + " " + f.help + "\n# TYPE " + f.name + " gauge\n") // Flush says
			}
			line = append(line[:0], f.name...)
			before := byte('{')
			for i, at := range order {
				line = append(append(append(line, before), names[i]...), '=', '"')
				line = append(appendEscaped(line, fleet.PlainText(values[at])), '"')
				before = ','
			}
			if len(order) > 0 {
				line = append(line, '}')
			}
			line = append(strconv.AppendFloat(append(line, ' '), v, 'g', -1, 64), '\n')
			_, _ = w.Write(line)
		}
		f.each(show)
	}
	return w.Flush()
}

// sortedLabels returns names in order, and where each was.
func sortedLabels(names []string) (sorted []string, order []int) {
	for i := range names {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	for _, at := range order {
		sorted = append(sorted, names[at])
	}
	return sorted, order
}

// appendEscaped appends the value of a label.
func appendEscaped(to []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\', '"':
			to = append(to, '\\', c)
		case '\n':
			to = append(to, `\n`...)
		default:
			to = append(to, c)
		}
	}
	return to
}
