package page

import (
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// An Ask is something that a person may ask for: the command, and where the forge lets
// people write the same as themselves. The page asks for nothing.
type Ask struct {
	What    string `json:"what"`
	Command string `json:"command"`
	URL     string `json:"url,omitempty"`
	Text    string `json:"text,omitempty"` // the file to write, where the link does not fill it in
	Path    string `json:"path,omitempty"`
}

// mostAsks is how many machines are offered.
const mostAsks = 5

// asks returns what may be asked for of a cluster, and of its machines in trouble. there are
// the requests on the status branch.
func asks(v Cluster, k fleet.Key, there []fleet.Request, options *Options) []Ask {
	of := " --source " + options.Source
	o := newAsker(there, options)
	out := []Ask{
		o.ask("Reconcile now", "fairlead reconcile "+k.String()+of, fleet.Request{Kind: fleet.RequestReconcile, Cluster: k}),
	}
	if v.Sign == Suspended {
		out = append(out, Ask{What: "Resume", Command: "fairlead resume " + k.String() + of})
	} else {
		out = append(out, o.ask("Suspend", "fairlead suspend "+k.String()+" --for 2h --reason '…'"+of, fleet.Request{Kind: fleet.RequestSuspend, Cluster: k}))
	}
	for _, m := range v.Machines {
		if len(out) == mostAsks || m.ID == "" || m.Sign == Deleting || m.Sign == Creating {
			continue
		}
		out = append(out, o.ask("Replace "+m.Name, "fairlead remediate "+m.Name+of, fleet.Request{
			Kind: fleet.RequestRemediate, Cluster: k, Machine: fleet.MachineName(m.Name), ProviderID: fleet.ProviderID(m.ID),
		}))
	}
	return out
}

// An asker offers requests.
type asker struct {
	*Options
	taken map[string]bool // files that are there, with an answer or without
}

func newAsker(there []fleet.Request, options *Options) asker {
	o := asker{options, make(map[string]bool)}
	for _, r := range there {
		o.taken[status.RequestPath(r)] = true
	}
	return o
}

// ofStage returns what may be asked for of a stage that waits for people.
func (o asker) ofStage(st fleet.StageStatus) []Ask {
	if st.Digest == "" { // nothing waits in it
		return nil
	}
	command := "fairlead release " + st.Name
	r := fleet.Request{Kind: fleet.RequestRelease, Stage: st.Name, Of: st.Digest}
	switch st.State {
	case fleet.StageApproval:
		r.Release = fleet.ReleaseApprove
		return []Ask{o.ask("Approve stage "+st.Name, command+" --approve --source "+o.Source, r)}
	case fleet.StageHalted:
		r.Release = fleet.ReleaseNow
		return []Ask{o.ask("Continue stage "+st.Name, command+" --now --reason '…' --source "+o.Source, r)}
	default:
		return nil
	}
}

// ofWait returns what may be asked for of a cluster that waits for its turn.
func (o asker) ofWait(w fleet.Wait) Ask {
	return o.ask("Release now", "fairlead release "+w.Cluster.String()+" --now --reason '…' --source "+o.Source, fleet.Request{
		Kind: fleet.RequestRelease, Cluster: w.Cluster, Release: fleet.ReleaseNow, Of: w.Digest,
	})
}

// ask returns the command and the link for the request r. The file has neither author nor time:
// the commit has them. An existing file is overwritten.
func (o asker) ask(what, command string, r fleet.Request) Ask {
	text := fmt.Sprintf("apiVersion: fairlead.dev/v1alpha1\nkind: Request\nwish: %s\n", r.Kind)
	if r.Stage != "" {
		text += fmt.Sprintf("stage: %q\n", r.Stage)
	} else {
		text += fmt.Sprintf("cluster: %s\n", r.Cluster)
	}
	if r.Release != "" {
		text += fmt.Sprintf("release: %s\nof: %q\n", r.Release, r.Of)
	}
	if r.Machine != "" {
		text += fmt.Sprintf("machine: %s\nproviderID: %q\n", r.Machine, string(r.ProviderID))
	}
	text += "reason: \"\"\n"
	file := status.RequestPath(r)
	a := Ask{What: what, Command: command, URL: o.StatusForge.New(o.Branch, file, text), Path: file}
	if o.taken[file] {
		a.URL = o.StatusForge.Edit(o.Branch, file)
	}
	if a.URL != "" && (o.taken[file] || !o.StatusForge.Fills()) {
		a.Text = text
	}
	return a
}
