package azuretest

import (
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// isExtension reports whether an id is of an extension of a VM.
func isExtension(id string) bool {
	return strings.Contains(strings.ToLower(id), "/virtualmachines/") && kindOf(id) == "extensions"
}

// putExtension installs an extension of a VM. One of a publisher called missing is refused, and one that executes the command
// false fails. Nothing shows its protected settings.
func (c *Cloud) putExtension(w http.ResponseWriter, id string, body object, r *resource) {
	vm := c.res[strings.ToLower(id[:strings.LastIndex(strings.ToLower(id), "/extensions/")])]
	body = clone(body)
	p := properties(body)
	switch {
	case vm == nil:
		refuse(w, http.StatusNotFound, "ParentResourceNotFound", "Can not perform requested operation on nested resource. Parent resource not found.")
		return
	case vm.state() == "Creating" || vm.state() == "Deleting":
		refuse(w, http.StatusConflict, "Conflict", "The request failed due to conflict with a concurrent request.")
		return
	case p["publisher"] == "missing":
		refuse(w, http.StatusBadRequest, "InvalidParameter", "The value of parameter typeHandlerVersion is invalid: there is no such handler.")
		return
	}
	delete(p, "protectedSettings")
	now := &resource{id: id, kind: "extensions", body: body, made: time.Now()}
	body["id"], body["name"] = id, nameOf(id)
	c.res[strings.ToLower(id)] = now
	c.stamp(now)
	state := "Creating"
	if r != nil {
		state, now.made = "Updating", r.made
	}
	c.begin(now, state, c.o.Make, func() {
		if c.succeed(now)(); objectOf(p["settings"])["commandToExecute"] == "false" {
			p["provisioningState"] = "Failed"
			p["instanceView"] = object{"statuses": []any{object{"code": "ProvisioningState/failed/1", "message": "Enable failed: failed to execute command: command terminated with exit status=1"}}}
		}
	})
	c.accept(w, http.StatusCreated, now)
}

// memberKind is the kind of memberships in a fleet of Azure.
const memberKind = "members"

var memberName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$`)

// putClusterExtension installs an extension in a cluster of AKS, or changes one. One of a type called missing is refused, and one
// with the setting fail fails. The codes of errors are not those of Azure.
func (c *Cloud) putClusterExtension(w http.ResponseWriter, id string, body object, r *resource) {
	body = clone(body)
	p := properties(body)
	cluster := c.res[strings.ToLower(id[:strings.Index(strings.ToLower(id), "/providers/microsoft.kubernetesconfiguration/")])]
	why := ""
	switch {
	case cluster == nil:
		refuse(w, http.StatusNotFound, "ParentResourceNotFound", "The cluster was not found.")
		return
	case cluster.state() == "Creating" || cluster.state() == "Deleting" || objectOf(properties(cluster.body)["powerState"])["code"] == "Stopped":
		refuse(w, http.StatusConflict, "Conflict", "The cluster is not running.")
		return
	case p["provisioningState"] != nil || body["systemData"] != nil || p["currentVersion"] != nil:
		why = "What is read-only is in the request."
	case p["extensionType"] == "missing":
		why = "Extension type missing is not registered in this region."
	case p["version"] != nil && p["autoUpgradeMinorVersion"] != false:
		why = "The version is pinned only with autoUpgradeMinorVersion false."
	case r != nil:
		for _, f := range []string{"extensionType", "scope", "aksAssignedIdentity"} {
			if !reflect.DeepEqual(p[f], properties(r.body)[f]) {
				why = "Changing " + f + " is not allowed."
			}
		}
	}
	if why != "" {
		refuse(w, http.StatusBadRequest, "ValidationFailed", why)
		return
	}
	fails := objectOf(p["configurationSettings"])["fail"] == "true"
	c.beside(w, id, "extensions", body, r, func() {
		if p["currentVersion"] = "1.2.3"; fails {
			p["provisioningState"], p["errorInfo"] = "Failed", object{"code": "ExtensionOperationFailed", "message": "The extension operation failed: helm install failed."}
		}
	})
}

// putMember makes a cluster of AKS a member of a fleet of Azure, or changes its group. A cluster is in one fleet. The codes of errors
// are not those of Azure.
func (c *Cloud) putMember(w http.ResponseWriter, id string, body object, r *resource) {
	body = clone(body)
	of := strings.ToLower(textOf(properties(body)["clusterResourceId"]))
	if c.res[strings.ToLower(id[:strings.LastIndex(strings.ToLower(id), "/members/")])] == nil {
		refuse(w, http.StatusNotFound, "ParentResourceNotFound", "The fleet was not found.")
		return
	}
	if k := c.res[of]; k == nil || k.kind != managedKind || !memberName.MatchString(nameOf(id)) {
		refuse(w, http.StatusBadRequest, "BadRequest", "The cluster is not there, or the name is not valid.")
		return
	}
	for _, o := range c.res {
		if o.kind == memberKind && strings.ToLower(textOf(properties(o.body)["clusterResourceId"])) == of && !strings.EqualFold(o.id, id) {
			refuse(w, http.StatusConflict, "Conflict", "The cluster is a member of a fleet already.")
			return
		}
	}
	c.beside(w, id, memberKind, body, r, func() {})
}

// beside makes or replaces what is beside a cluster of AKS, and does then at the end.
func (c *Cloud) beside(w http.ResponseWriter, id, kind string, body object, r *resource, then func()) {
	now, state := &resource{id: id, kind: kind, body: body, made: time.Now()}, "Creating"
	body["id"], body["name"] = id, nameOf(id)
	if r != nil {
		state, now.made = "Updating", r.made
	}
	c.res[strings.ToLower(id)] = now
	c.stamp(now)
	c.begin(now, state, c.o.Managed, func() { c.succeed(now)(); then() })
	c.accept(w, http.StatusCreated, now)
}
