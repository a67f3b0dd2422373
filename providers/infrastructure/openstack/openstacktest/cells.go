package openstacktest

import (
	"net/http"
	"slices"
)

// errUnexpected is what Nova answers where it cannot look up what it has to.
var errUnexpected = refuse(http.StatusInternalServerError, "", "Unexpected API Error. Please report this at "+
	"http://bugs.launchpad.net/nova/ and attach the Nova API log if possible.\n<class 'nova.exception.CellTimeout'>")

// cellIsDown reports whether Nova cannot look up s.
func (k *call) cellIsDown(s Object) bool {
	return k.options.CellDown != nil && k.options.CellDown(s.clone())
}

// withoutCells sorts out of a listing the servers that Nova does not list, and
// those whose cell is down. Of these a listing tells from microversion 2.69 on,
// but for one that is asked for by page.
// Source: https://docs.openstack.org/api-guide/compute/down_cells.html
func (k *call) withoutCells(all []Object) (up, down []Object) {
	for _, s := range all {
		switch {
		case k.cellIsDown(s):
			down = append(down, s)
		case s.String("OS-EXT-STS:vm_state") != softDeleted:
			up = append(up, s)
		}
	}
	if k.minor < 69 || slices.ContainsFunc([]string{"marker", "limit", "name"}, k.query.Has) {
		down = nil
	}
	return up, down
}

// minimal is what Nova knows of a server whose cell is down.
func minimal(s Object) Object {
	return Object{"id": s["id"], "status": "UNKNOWN", "tenant_id": s["tenant_id"], "created": s["created"], "links": []Object{}}
}
