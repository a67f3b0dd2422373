package orphans

import (
	"fmt"
	"io"
	"time"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
)

// A view is what orphans shows as JSON and YAML.
type view struct {
	Revision string       `json:"revision"`
	Orphans  []orphanView `json:"orphans"`
	Vanished []string     `json:"vanished"` // clusters that are not in Git any more
	Notes    []string     `json:"notes,omitempty"`
}

type orphanView struct {
	Provider string     `json:"provider"`
	Place    string     `json:"place"`
	Kind     string     `json:"kind"`
	ID       string     `json:"id"`
	Name     string     `json:"name,omitempty"`
	Cluster  string     `json:"cluster,omitempty"`
	Created  *time.Time `json:"created,omitempty"`
	Reason   string     `json:"reason"`
	Vanished bool       `json:"vanished,omitempty"` // its cluster did: it is not removed
}

// Write shows what the scan found.
func (s *Scan) Write(out io.Writer, form output.Format) error {
	v := view{Revision: s.revision, Orphans: []orphanView{}, Vanished: []string{}, Notes: s.notes}
	t := output.Table{Header: []string{"PROVIDER", "PLACE", "KIND", "NAME", "ID", "CLUSTER", "CREATED", "REASON"}}
	for _, k := range s.vanished {
		v.Vanished = append(v.Vanished, k.String())
		t.Add("", "", "cluster", k.Name, "", k.String(), "", "it was removed from Git without a request to delete it: not deleted")
	}
	for _, o := range s.orphans {
		so := orphanView{Provider: o.Provider, Place: o.Place, Kind: o.Kind, ID: o.ID, Name: o.Name, Reason: o.Reason, Vanished: s.gone[o.Cluster]}
		created := ""
		if !o.Created.IsZero() {
			at := o.Created.UTC().Truncate(time.Second)
			so.Created, created = &at, at.Format(time.RFC3339)
		}
		if o.Cluster != (fleet.Key{}) {
			so.Cluster = o.Cluster.String()
		}
		if so.Vanished {
			so.Reason = "its cluster was removed from Git: the agent decides"
		}
		v.Orphans = append(v.Orphans, so)
		t.Add(so.Provider, so.Place, so.Kind, so.Name, so.ID, so.Cluster, created, so.Reason)
	}
	if form == output.FormatTable && t.Empty() {
		fmt.Fprintln(out, "no orphans")
	} else if err := t.Write(out, form, v); err != nil {
		return err
	}
	if form == output.FormatTable || form == output.FormatMarkdown {
		for _, note := range s.notes {
			fmt.Fprintln(out, "\n"+note)
		}
	}
	return nil
}
