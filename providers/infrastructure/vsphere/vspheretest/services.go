package vspheretest

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// The privileges of services beside the SDK, which are asked of the root folder.
// Source: vSphere Automation API, TagAssociation; Storage Policy API, "Required privileges".
const (
	viewPolicies = "StorageProfile.View"
	attachTags   = "InventoryService.Tagging.AttachTag"
)

// sessionCookie is the cookie with which a SOAP service receives the session of vCenter.
var sessionCookie = regexp.MustCompile(`<vcSessionCookie[^>]*>([^<]*)<`)

// forbidsService answers calls of storage policies and tags that a user may not make, and
// reports whether it did.
func (v *VCenter) forbidsService(w http.ResponseWriter, r *http.Request, c Call) bool {
	root := v.root()
	v.mu.Lock()
	user := v.tokens[r.Header.Get("vmware-api-session-id")]
	if m := sessionCookie.FindSubmatch(c.body); m != nil {
		user = v.sessions[string(bytes.TrimSpace(m[1]))]
	}
	v.mu.Unlock()
	switch {
	case strings.HasPrefix(c.Method, "Pbm") && c.Method != "PbmRetrieveServiceContent" && !v.May(user, root, viewPolicies):
		v.refuse(w, CallFault{Fault: &types.NoPermission{Object: &root, PrivilegeId: viewPolicies}})
	case strings.Contains(c.Method, "/tag-association") && strings.Contains(c.Method, "action=attach") && !v.May(user, root, attachTags):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"type":"com.vmware.vapi.std.errors.unauthorized","value":{"messages":[]}}`))
	default:
		return false
	}
	return true
}
