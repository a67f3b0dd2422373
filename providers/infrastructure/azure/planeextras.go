package azure

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// An extra is beside a cluster of AKS: an extension in it, or its membership of a fleet of Azure.
type extra struct {
	what     string            // for people: "extension flux"
	id       string            // of the resource
	want     map[string]any    // what Git says of it
	settings map[string]string // of an extension in Git, in their own case
	fixed    []string          // what Azure changes of none
	raw      map[string]any    // as a GET gave it; nil: it is not there
	unread   error             // why it was not found
}

// extras returns what Git names beside the cluster.
// Source: Azure REST API, Extensions, Create, and Fleet Members, Create, and CAPZ, azure/services/aksextensions and fleetsmembers.
func (m *managed) extras() []*extra {
	var out []*extra
	for i := range m.want.Extensions {
		e := &m.want.Extensions[i]
		out = append(out, &extra{
			what: "extension " + e.Name, id: m.clusterID() + "/providers/" + arm.ClusterExtensions + "/" + e.Name, want: extensionBody(e), settings: e.ConfigurationSettings,
			fixed: []string{"extensionType", "scope", "aksAssignedIdentity", "identity", "plan"},
		})
	}
	if f := m.want.FleetsMember; f != nil {
		out = append(out, m.membership(f))
	}
	return out
}

// clusterID is the id of the cluster of AKS.
func (m *managed) clusterID() string {
	name := m.name
	if m.is != nil {
		name = m.is.Name
	}
	return m.place.resource(arm.ManagedClusters, name)
}

// membership is that of the cluster in a fleet of Azure.
func (m *managed) membership(f *api.FleetsMember) *extra {
	p := map[string]any{"clusterResourceId": m.clusterID()}
	if f.Group != "" {
		p["group"] = f.Group
	}
	id := arm.GroupID(m.place.Subscription(), f.ManagerResourceGroup) + "/providers/" + arm.Fleets + "/" + f.ManagerName + "/members/" + f.Name
	return &extra{what: "membership " + f.Name + " of fleet " + f.ManagerName, id: id, want: map[string]any{"properties": p}, fixed: []string{"clusterResourceId"}}
}

// extensionBody is an extension without its settings.
func extensionBody(e *api.Extension) map[string]any {
	p, out := map[string]any{"extensionType": e.ExtensionType}, map[string]any{}
	out["properties"] = p
	for name, text := range map[string]string{"releaseTrain": e.ReleaseTrain, "version": e.Version} {
		if text != "" {
			p[name] = text
		}
	}
	if e.AutoUpgradeMinorVersion != nil {
		p["autoUpgradeMinorVersion"] = *e.AutoUpgradeMinorVersion
	}
	if s := e.Scope; s != nil && s.ScopeType == api.ScopeNamespace {
		p["scope"] = map[string]any{"namespace": map[string]any{"targetNamespace": s.TargetNamespace}}
	} else if s != nil {
		p["scope"] = map[string]any{"cluster": map[string]any{"releaseNamespace": s.ReleaseNamespace}}
	}
	if e.AKSAssignedIdentityType != "" {
		p["aksAssignedIdentity"] = map[string]any{"type": e.AKSAssignedIdentityType}
	}
	if e.Identity != "" {
		out["identity"] = map[string]any{"type": e.Identity}
	}
	if e.Plan != nil { // Azure names its fields as CAPZ does
		out["plan"] = plain(e.Plan)
	}
	return out
}

// properties returns those of an extra as it is.
func (x *extra) properties() map[string]any { return propertiesIn(cmpMap(x.raw)) }

// read finds an extra. What cannot be read holds up nothing else.
func (m *managed) read(ctx context.Context, x *extra) {
	err := m.place.Get(ctx, x.id, &x.raw)
	if err != nil && !arm.IsMissing(err) {
		x.unread = err
	}
}

// lookAtExtras finds what Git names beside the cluster.
func (m *managed) lookAtExtras(ctx context.Context) []*extra {
	all := m.extras()
	for _, x := range all {
		m.read(ctx, x)
	}
	return all
}

// differs returns in what an extra differs from Git.
func (x *extra) differs() []difference {
	out := differences(x.raw, x.want)
	is, _ := x.properties()[settingsName].(map[string]any)
	for k, v := range x.settings { // upper and lower case are not the same in these
		if is[k] != v {
			out = append(out, difference{[]string{"properties", settingsName, k}, is[k], v})
		}
	}
	slices.SortFunc(out, func(a, b difference) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// settingsName is the field of the settings of an extension.
const settingsName = "configurationSettings"

// decideExtras decides about what is beside the cluster. What Git no longer names stays.
func (m *managed) decideExtras(all []*extra) *steps.Decision {
	d := new(steps.Decision)
	for _, x := range all {
		state, _ := x.properties()["provisioningState"].(string)
		again := askOf(x.id, "all changes", "")
		at, asked := m.p.asks.Of(again)
		switch {
		case x.unread != nil:
			d.Faults = append(d.Faults, arm.WrapLook("find "+x.what, x.unread))
			continue
		case x.raw == nil:
			d.Add(steps.Step{What: "create " + x.what, Do: func(ctx context.Context) error { return m.putExtra(ctx, x, nil) }})
			continue
		case !isSettled(state):
			d.Add(steps.Step{What: x.what + " is " + strings.ToLower(state), Blocked: true})
			continue
		case state == failed || state == canceled:
			d.Faults = append(d.Faults, fleet.Errorf(fleet.Conflict, "create "+x.what, "%s (correct it in Git, or delete it in Azure; it is requested again every 10 minutes)", x.failure(state)))
		}
		var change []difference
		var lacks []ask
		for _, f := range x.differs() {
			if slices.ContainsFunc(x.fixed, func(name string) bool { return f.String() == name || strings.HasPrefix(f.String(), name+".") }) {
				d.CannotFollow(f.String()+" of "+x.what, "it is %v and not %v, and Azure changes it of none (put it back, or give it another name)", f.is, f.want)
				continue
			}
			change, lacks = append(change, f), append(lacks, askOf(x.id, f.String(), f.want))
		}
		overruled := m.p.overruled(x.id, state, lacks)
		change = slices.DeleteFunc(change, func(f difference) bool { return slices.Contains(overruled, f.String()) })
		if text := overruledText(overruled); text != "" {
			d.Faults = append(d.Faults, fleet.Errorf(fleet.Conflict, "change "+x.what, "%s", text))
		}
		what := fmt.Sprint("change ", x.what, ": ", change)
		if len(change) == 0 {
			what = "request " + x.what + " again"
		}
		if fails := state == failed || state == canceled; len(change) > 0 || fails && (!asked || time.Since(at) > failedAgain) {
			d.Add(steps.Step{What: what, Do: func(ctx context.Context) error { return m.putExtra(ctx, x, change) }})
		}
	}
	return d
}

// failure says why an extra failed, as far as Azure tells.
func (x *extra) failure(state string) string {
	for _, name := range []string{"errorInfo", "status"} {
		info, _ := x.properties()[name].(map[string]any)
		if of, ok := info["lastOperationError"].(map[string]any); ok {
			info = of
		}
		if text := fmt.Sprint(info["code"], ": ", info["message"]); info["message"] != nil {
			return text
		}
	}
	return "it is " + state
}

// putExtra requests an extra, or changes of one that is there.
func (m *managed) putExtra(ctx context.Context, x *extra, change []difference) error {
	m.p.o.Log.InfoContext(ctx, "requesting what is beside a cluster of AKS", "cluster", m.c.Key.String(), "what", x.what)
	body, condition := plain(x.want), arm.Absent()
	if x.raw == nil {
		for k, v := range x.settings {
			difference{path: []string{"properties", settingsName, k}, want: v}.set(body)
		}
	} else {
		etag, _ := x.raw["eTag"].(string)
		body, condition = plain(x.raw), arm.Unchanged(etag)
		for _, f := range change {
			f.set(body)
		}
		readOnly(body, "id", "name", "type", "eTag", "etag", "systemData")
		readOnly(propertiesIn(body), "provisioningState", "currentVersion", "statuses", "status", "errorInfo", "isSystemExtension", "packageUri", "customLocationSettings")
	}
	if err := m.place.Put(ctx, x.id, body, condition); err != nil && !arm.IsTaken(err) {
		return arm.Named(err)
	}
	m.p.asks.Note(askOf(x.id, "all changes", ""), time.Now())
	for _, f := range change {
		m.p.asked(askOf(x.id, f.String(), f.want))
	}
	return nil
}

// ensureExtras makes and changes what is beside the cluster. What Azure refuses of one holds up no other.
func (m *managed) ensureExtras(ctx context.Context) []error {
	d := m.decideExtras(m.lookAtExtras(ctx))
	errs := d.Faults
	for _, s := range d.Steps {
		if s.Blocked || !m.serves() || !m.idle() {
			continue
		}
		if err := s.Do(ctx); err != nil {
			errs = append(errs, arm.Wrap(s.What, err))
		}
	}
	return errs
}

// member returns the membership of the cluster in a fleet of Azure that is there; nil: there is none.
func (m *managed) member(ctx context.Context) (*extra, error) {
	if m.want.FleetsMember == nil {
		return nil, nil
	}
	x := m.membership(m.want.FleetsMember)
	if m.read(ctx, x); x.unread != nil {
		return nil, arm.WrapLook("find "+x.what, x.unread)
	}
	of, _ := x.properties()["clusterResourceId"].(string)
	if x.raw == nil || !arm.Same(of, m.clusterID()) {
		return nil, nil
	}
	return x, nil
}

// leaveFleet ends the membership of the cluster in a fleet of Azure: the cluster goes after it.
func (m *managed) leaveFleet(ctx context.Context) error {
	x, err := m.member(ctx)
	if err != nil || x == nil {
		return err
	}
	if state, _ := x.properties()["provisioningState"].(string); state != "Leaving" && state != deleting {
		if err := m.place.Delete(ctx, x.id); err != nil {
			return arm.Wrap("delete "+x.what, err)
		}
	}
	return fleet.Errorf(fleet.Unavailable, "delete the cluster", "%s is being deleted", x.what)
}
