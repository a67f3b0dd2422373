package azuretest

import (
	"net/http"
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
